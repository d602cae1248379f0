"""Sessions: running parts of a graph, with state that lives from run to run."""
