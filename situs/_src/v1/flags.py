"""``tf.flags``: command line options, by absl.

    tf.flags.DEFINE_integer("steps", 100, "How many steps to run.")
    FLAGS = tf.flags.FLAGS
    ... FLAGS.steps ...

Flags that other libraries define with absl are among them. Two things are added: `FLAGS` reads the command line when a
program first asks for the value of a flag, where absl wants to be called before; and the definitions take the keywords
of early programs, and names that absl's own logging has taken since (``log_dir``).
"""

from __future__ import annotations

import functools as _functools
import sys as _sys
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from typing import Any as _Any

from absl import flags as _absl
from absl.flags import *  # noqa: F403

_absl.disclaim_key_flags()  # what is defined through this module belongs to the module that calls it, in --help
_EARLY = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _definition(define: _Callable[..., _Any]) -> _Callable[..., _Any]:
    @_functools.wraps(define)
    def call(*args: _Any, **kwargs: _Any) -> _Any:
        given = {_EARLY.get(name, name): value for name, value in kwargs.items()}
        if _absl.FLAGS.find_module_defining_flag(args[0] if args else given.get("name", "")) == "absl.logging":
            given["allow_override"] = True  # log_dir and the like: programs are older than absl's
        return define(*args, **given)

    return call


DEFINE_string = _definition(_absl.DEFINE_string)
DEFINE_boolean = DEFINE_bool = _definition(_absl.DEFINE_boolean)
DEFINE_float = _definition(_absl.DEFINE_float)
DEFINE_integer = _definition(_absl.DEFINE_integer)
DEFINE_enum = _definition(_absl.DEFINE_enum)
DEFINE_list = _definition(_absl.DEFINE_list)


class _ReadOnFirstUse:
    """absl's ``FLAGS``, with the command line read when the value of a flag is first asked for."""

    def __getattr__(self, name: str) -> _Any:
        if name in _absl.FLAGS and not _absl.FLAGS.is_parsed():
            _absl.FLAGS(_sys.argv)
        return getattr(_absl.FLAGS, name)

    def __setattr__(self, name: str, value: _Any) -> None:
        setattr(_absl.FLAGS, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_absl.FLAGS, name)

    def __getitem__(self, name: str) -> _Any:
        return _absl.FLAGS[name]

    def __setitem__(self, name: str, flag: _Any) -> None:
        _absl.FLAGS[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in _absl.FLAGS

    def __iter__(self) -> _Iterator[str]:
        return iter(_absl.FLAGS)

    def __len__(self) -> int:
        return len(_absl.FLAGS)

    def __dir__(self) -> list[str]:
        return dir(_absl.FLAGS)

    def __str__(self) -> str:
        return str(_absl.FLAGS)

    def __call__(self, argv: _Any, known_only: bool = False) -> list[str]:
        """Reads a command line; returns what is left of it."""
        return _absl.FLAGS(argv, known_only)


FLAGS = _ReadOnFirstUse()  # type: ignore[assignment]
