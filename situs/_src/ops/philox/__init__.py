"""Philox 4x32-10, and TensorFlow's distributions on it: same seed, same numbers.

A block of four words of 32 bits is a function of a key and a counter (`base.streams`). How a distribution uses blocks,
and in which order, determines the numbers. The rules are TensorFlow's:

    words       blocks on any device                                by PyTorch's ops, C or Triton
    floats      words -> unit floats, logarithm, sine, Box-Muller   in float64 where float32 rounds differently
    draw        uniform, normal, truncated normal, integers         `sizes` and a `Position` -> a tensor
    rejection   gamma, Poisson, binomial, categories                each output has blocks of its own
    compiled    the same in C, for the CPU                          optional: equal to the bit
    card        the same in Triton, for a GPU                       optional: equal to the bit
    launch      how a Triton kernel is launched                     again and again, by few steps of the host

All implementations give the same bits: integer arithmetic is exact, and the logarithm, sine and cosine of float32 are
polynomials in float64, one operation after the other, whose results are rounded once.
"""

from __future__ import annotations
