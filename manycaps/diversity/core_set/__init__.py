"""Smallest training sets that cover a test set: greedy set cover on scores of every caption with every row."""
