"""``tf.contrib``: the parts that programs use and that have a plain equivalent in ``tf``; others raise an error."""

from importlib import import_module as _import_module
from typing import Any as _Any

from situs._src.v1.contrib.absent import without as _without

_refused = _without("tf.contrib")
_BECAME = {"distributions": "situs.compat.v1.distributions", "keras": "situs.keras"}


def __getattr__(name: str) -> _Any:
    return _import_module(_BECAME[name]) if name in _BECAME else _refused(name)
