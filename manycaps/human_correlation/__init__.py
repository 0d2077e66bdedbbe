"""How well a metric agrees with people: the usual benchmarks of captioning metrics."""
