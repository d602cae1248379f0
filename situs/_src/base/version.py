"""The version of Situs."""

__version__ = "0.2.0"
