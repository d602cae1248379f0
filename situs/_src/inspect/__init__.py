"""Reports: where ops run and why, how much memory each device holds, by what, over time; how much a graph will take."""
