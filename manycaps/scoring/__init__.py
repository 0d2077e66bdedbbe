"""Scores of files of any size: planned in parts, scored by processes or a cluster, put together exactly."""
