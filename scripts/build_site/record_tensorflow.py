"""Writes down TensorFlow's public names and their parameters, for the comparison in the API reference.

    path/to/python-with-tensorflow scripts/build_site/record_tensorflow.py > scripts/build_site/tensorflow_names.txt

One line for each name that is not a module, sorted: ``nn.relu(features,name)``, ``compat.v1.AUTO_REUSE``. A name
without parentheses has no signature to compare: a value, or something that only its own code knows how to call.
Left out are ``keras``, which is Keras itself under both libraries; ``compat.v2`` and ``compat.v1.raw_ops``, which are
the same names once more; and modules that are not part of the public names (``tf.python``).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

LEFT_OUT = {"keras", "compat.v2", "compat.v1.keras", "compat.v1.compat", "compat.v1.raw_ops"}


def names(module: ModuleType, prefix: str, above: tuple[ModuleType, ...]) -> Iterator[str]:
    """The public names of a module and of those below it."""
    for name in sorted(dir(module)):
        path = f"{prefix}{name}"
        if name.startswith("_") or path in LEFT_OUT:
            continue
        value = getattr(module, name, None)
        if not isinstance(value, ModuleType):
            yield path + parameters(value)
        elif "tensorflow._api" in repr(value) and value not in above:
            yield from names(value, f"{path}.", (*above, value))


def parameters(value: object) -> str:
    """``(a,b,*rest)``, or nothing where there is no signature."""
    if not callable(value):
        return ""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return f"({','.join(marks.get(each.kind, '') + each.name for each in found)})"


if __name__ == "__main__":
    import tensorflow

    print(f"# TensorFlow {tensorflow.__version__}, by {' '.join(sys.argv[:1])}")
    print("\n".join(sorted(names(tensorflow, "", (tensorflow,)))))
