"""Benchmarks: one command, ratios against a yardstick taken in the same run."""
