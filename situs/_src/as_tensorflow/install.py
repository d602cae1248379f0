"""`install_as_tensorflow`: from now on ``import tensorflow`` imports Situs.

It is never silent: if TensorFlow has been imported already, or is installed next to Situs, the program is told.
"""

from __future__ import annotations

import importlib.machinery
import sys

from situs._src.as_tensorflow.finder import Finder
from situs._src.as_tensorflow.roots import VERSIONS
from situs._src.base.errors import ArgumentError, StateError, shown
from situs._src.base.export import export


@export("install_as_tensorflow", v1=())
def install_as_tensorflow(dialect: str = "v2", replace: bool = False) -> None:
    """Lets ``import tensorflow`` give Situs, in this process and from now on.

    Under that name the defaults are those of today's TensorFlow: ops that have no kernel on the device that was asked
    for run on another one, and ``tf.__version__`` is the version of TensorFlow that Situs follows.

    Args:
        dialect: ``v2``: ops run at once. ``v1``: they build graphs, as in TensorFlow 1.
        replace: Whether Situs is to be used although TensorFlow is installed here as well.

    Raises:
        RuntimeError: TensorFlow has been imported already, or it is installed and `replace` is false, or Situs has been
            installed in the other dialect.
    """
    if not isinstance(dialect, str) or dialect not in VERSIONS:
        raise ArgumentError(f"A dialect is 'v1' or 'v2', got {shown(dialect)}.")
    before = installed()
    if before is not None:
        if before.dialect != dialect:
            raise StateError(f"tensorflow is Situs already, in the dialect {before.dialect}; one process has one.")
        return
    if "tensorflow" in sys.modules:
        raise StateError(
            "TensorFlow has been imported already: call situs.install_as_tensorflow() before the first import of "
            "tensorflow, or run the program by `situs run`."
        )
    if not replace and is_installed():
        raise StateError(
            "TensorFlow is installed here too. To use Situs in its place: situs.install_as_tensorflow(replace=True) "
            "or `situs run`. To use TensorFlow: leave out this call."
        )
    finder = Finder(dialect)
    finder.prepare()
    sys.meta_path.insert(0, finder)


def installed() -> Finder | None:
    """What gives ``tensorflow`` to programs of this process; None if nothing of Situs does."""
    return next((finder for finder in sys.meta_path if isinstance(finder, Finder)), None)


def is_installed() -> bool:
    """Whether ``import tensorflow`` would find TensorFlow. Imports nothing."""
    return importlib.machinery.PathFinder.find_spec("tensorflow") is not None
