"""``tf.math.special``: special functions."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.math import bessel_i0 as bessel_i0
from situs._src.ops.math import bessel_i0e as bessel_i0e
from situs._src.ops.math import bessel_i1 as bessel_i1
from situs._src.ops.math import bessel_i1e as bessel_i1e
from situs._src.ops.math import bessel_j0 as bessel_j0
from situs._src.ops.math import bessel_j1 as bessel_j1
from situs._src.ops.math import bessel_k0 as bessel_k0
from situs._src.ops.math import bessel_k0e as bessel_k0e
from situs._src.ops.math import bessel_k1 as bessel_k1
from situs._src.ops.math import bessel_k1e as bessel_k1e
from situs._src.ops.math import bessel_y0 as bessel_y0
from situs._src.ops.math import bessel_y1 as bessel_y1
