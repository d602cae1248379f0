"""Reverse-mode differentiation, on a tape or in a graph."""

from situs._src.autodiff import control_flow, python_function, recurrent  # noqa: F401 -- they declare gradients
