"""Tables of document frequencies, counted in captions."""
