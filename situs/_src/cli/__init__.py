"""The ``situs`` command."""
