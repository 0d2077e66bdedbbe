"""The modules of the collection: what each declares, how it is loaded, what it needs, and the options of commands."""
