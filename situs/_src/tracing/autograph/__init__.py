"""AutoGraph: plain Python control flow that becomes part of the graph when it depends on a tensor.

A branch or a loop carries the names, attributes and elements that it assigns, and the ``nonlocal`` variables of nested
functions. Every other change is a side effect of tracing, as in TensorFlow:

    if x > 0:
        y = x              # only where x > 0
        box.append(x)      # during tracing, whatever x will be
"""

from situs._src.tracing.autograph import (
    convert as convert,  # installs itself: converted code needs it
)
