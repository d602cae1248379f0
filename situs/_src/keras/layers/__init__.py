"""Layers."""

import situs._src.keras.layers.operators  # noqa: F401 - gives the tensors of functional models Python's operators
