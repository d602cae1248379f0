"""Reports: where ops run and why, the memory use of each device over time, and memory forecasts of graphs."""
