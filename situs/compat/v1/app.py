"""``tf.app``: the beginning and the end of a program.

    def main(argv):
        print(tf.app.flags.FLAGS.steps)

    if __name__ == "__main__":
        tf.app.run()

A command line that does not fit the flags ends the program with a line on stderr and the code 1.
"""

from __future__ import annotations

import sys as _sys
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import NoReturn as _NoReturn

from situs.compat.v1 import flags as flags
from situs.errors import ArgumentError as _ArgumentError


def run(main: _Callable[[list[str]], _Any] | None = None, argv: _Sequence[str] | None = None) -> _NoReturn:
    """Reads the flags, calls `main` with what is left of the command line, and exits with what it returns.

    Args:
        main: The function; ``main`` of the program if it is not given.
        argv: The command line; ``sys.argv`` if it is not given.
    """
    entry = _main_of_program() if main is None else main
    if not callable(entry):
        raise _ArgumentError(f"tf.app.run() calls a function of the command line, got {entry!r}.")
    try:
        left = flags.FLAGS(_sys.argv if argv is None else argv)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}\nPass --help to see the flags.", file=_sys.stderr)
        _sys.exit(1)
    _sys.exit(entry(left))


def _main_of_program() -> _Callable[[list[str]], _Any]:
    found = getattr(_sys.modules["__main__"], "main", None)
    if found is None:
        raise _ArgumentError("tf.app.run() calls main(argv) of the program, which has none: pass a function.")
    return found  # type: ignore[no-any-return]
