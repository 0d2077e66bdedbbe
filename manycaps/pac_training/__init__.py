"""Positive-augmented contrastive learning: training a PAC score."""
