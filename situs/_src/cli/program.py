"""Running a Python program as ``python PROGRAM`` or ``python -m MODULE`` would, inside of a command."""

from __future__ import annotations

import importlib.util
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from situs._src.base import tracebacks
from situs._src.base.errors import ArgumentError, NotFoundError, shown


class UsageError(ArgumentError):
    """A command line that lacks something, or has what cannot be meant."""


def find(program: str, is_module: bool = False) -> str:
    """The path of a program, which is a file or a module.

    Raises:
        NotFoundError: there is none.
    """
    if not is_module:
        if not _is_file(program):
            raise NotFoundError(f"There is no program {shown(program)}.")
        return program
    with _as_script(str(Path.cwd() / "-m"), ()):
        try:
            spec = importlib.util.find_spec(program) or None
            if spec is not None and spec.submodule_search_locations is not None:
                spec = importlib.util.find_spec(f"{program}.__main__")
        except (ImportError, ValueError):
            spec = None
    if spec is None or spec.origin is None:
        raise NotFoundError(f"There is no module {shown(program)} that could be run.")
    return spec.origin


def use_situs(path: str) -> None:
    """Makes ``import tensorflow`` import Situs if a program does that, as ``situs run`` does for every program."""
    from situs._src.as_tensorflow import install  # here, because these load PyTorch
    from situs._src.as_tensorflow.dialect import dialect_of, imports_tensorflow

    if imports_tensorflow(path):
        install.install_as_tensorflow(dialect_of(path), replace=True)


def run(
    path: str,
    arguments: Sequence[str],
    module: str | None = None,
    explain: Callable[[BaseException], str] | None = None,
) -> int:
    """Runs a program and returns its exit status; an error that ends it is printed from its own first line on.

    Args:
        path: The program's file.
        arguments: What it is given.
        module: The name of the module that it is, to be run as ``python -m`` does.
        explain: What to print of an error besides.
    """
    try:
        with _as_script(str(Path.cwd() / "-m") if module else path, arguments, path):
            if module is None:
                runpy.run_path(path, run_name="__main__")
            else:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return _status(ended.code)
    except BaseException as error:  # an interruption too
        error.__traceback__ = _from_program(error, path)
        traceback.print_exception(type(error), error, tracebacks.shown(error))
        # As Python does: who is called at the end of the process, such as a worker that leaves others, finds it there.
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        if explain is not None and (text := explain(error)):
            print(text, file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # too long for a name, for example
        return False


@contextmanager
def _as_script(program: str, arguments: Sequence[str], name: str | None = None) -> Iterator[None]:
    argv, path = sys.argv, list(sys.path)
    sys.argv = [name or program, *arguments]
    sys.path.insert(0, str(Path(program).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path


def _status(code: object) -> int:
    """The exit status that Python makes of what ``sys.exit`` was called with."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _from_program(error: BaseException, program: str) -> TracebackType | None:
    """The traceback from the program's own first frame on; None if it has none, as for a syntax error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != program:
        trace = trace.tb_next
    return trace
