"""``tf.app``: program entry and exit, by absl.

    def main(argv):
        print(tf.app.flags.FLAGS.steps)

    if __name__ == "__main__":
        tf.app.run()

A value that does not match its flag ends the program with a line on stderr and exit code 1. Undefined flags are passed
to `main`, as in TensorFlow.
"""

from __future__ import annotations

import sys as _sys
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any

from absl import app as _absl

from situs._src.base.errors import ArgumentError as _ArgumentError
from situs._src.base.export import export
from situs._src.v1 import flags as flags


@export(v1="app.run", as_is=True)
def run(main: _Callable[[list[str]], _Any] | None = None, argv: _Sequence[str] | None = None) -> None:
    """Reads the flags, calls `main` with what is left of the command line, and exits with what it returns.

    Args:
        main: The function; ``main`` of the program if it is not given.
        argv: The command line; ``sys.argv`` if it is not given.
    """
    entry = getattr(_sys.modules["__main__"], "main", None) if main is None else main
    if entry is None:
        raise _ArgumentError("tf.app.run() calls main(argv) of the program, which has none: pass a function.")
    if not callable(entry):
        raise _ArgumentError(f"tf.app.run() calls a function of the command line, got {entry!r}.")
    _absl.run(entry, None if argv is None else list(argv), flags_parser=_parsed)


def _parsed(argv: list[str]) -> list[str]:
    try:
        return flags.FLAGS(argv, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}\nPass --help to see the flags.", file=_sys.stderr)
        _sys.exit(1)
