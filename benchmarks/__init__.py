"""Measurements against peers, in one run, as ratios. No test depends on them."""
