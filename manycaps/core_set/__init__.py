"""How few captions of a training set cover a test set: greedy set cover on scores of every caption with every row."""
