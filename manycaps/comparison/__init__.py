"""Comparison of captioning systems: paired tests, tables, and a page."""
