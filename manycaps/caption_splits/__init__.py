"""Training, validation and test splits by what captions name and how long they are, with a check that nothing leaks."""
