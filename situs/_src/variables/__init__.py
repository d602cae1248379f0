"""Variables: named state, in eager code and in graphs."""
