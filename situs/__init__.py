"""Situs: a tensor runtime whose subject is where computation happens.

This is the eager front door: ``import situs as tf``. Its names stand in ``__init__.pyi`` and are
loaded when they are first used.
"""

from pathlib import Path as _Path

from situs.absent import hint as _hint
from situs.devices.spinning import install as _shorten_spins
from situs.lazy import attach as _attach
from situs.lazy import read_stub as _read_stub


def _about(name: str) -> str:
    """What to say of a name that is not there: where graphs have it, or what to use in its place."""
    stub = _Path(__file__).parent / "compat" / "v1" / "__init__.pyi"
    if name not in _read_stub(stub):
        return _hint(name)
    return (
        f". tf.{name} belongs to graphs and sessions: write `import situs.compat.v1 as tf`, or call "
        f"tf.compat.v1.{name} in this program"
    )


__version__ = "0.2.0.dev0"
_shorten_spins()
__getattr__, __dir__, __all__ = _attach(__name__, _Path(__file__).with_suffix(".pyi"), missing=_about)
