"""The ops, one family a file."""
