"""What `manycaps quickstart` shows: captioning systems beside each other, on bundled captions or on your own."""
