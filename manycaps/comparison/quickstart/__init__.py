"""`manycaps quickstart`: captioning systems side by side, on bundled captions or on your own."""
