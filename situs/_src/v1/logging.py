"""``tf.logging``: the program's messages, in one stream with those of Situs.

    tf.logging.set_verbosity(tf.logging.INFO)
    tf.logging.info("step %d", 3)               INFO:situs:step 3

All go to Python's logger ``situs``. Unless the program has configured logging itself, they are written to stderr;
otherwise its handlers get them.
"""

from __future__ import annotations

import logging as _logging
import sys as _sys
from collections import Counter as _Counter
from typing import Any as _Any
from typing import TextIO as _TextIO

from situs._src.base import locks as _locks
from situs._src.base.errors import ArgumentError as _ArgumentError
from situs._src.base.errors import DTypeError as _DTypeError
from situs._src.base.errors import shown as _shown
from situs._src.base.export import export

DEBUG = _logging.DEBUG
export(v1="logging.DEBUG")(DEBUG)
INFO = _logging.INFO
export(v1="logging.INFO")(INFO)
WARN = _logging.WARNING
export(v1="logging.WARN")(WARN)
ERROR = _logging.ERROR
export(v1="logging.ERROR")(ERROR)
FATAL = _logging.FATAL
export(v1="logging.FATAL")(FATAL)


class _Stderr(_logging.StreamHandler[_TextIO]):
    """Writes to what ``sys.stderr`` is by then, if nobody else takes the messages."""

    def emit(self, record: _logging.LogRecord) -> None:
        if not _logging.getLogger().handlers:
            self.stream = _sys.stderr
            super().emit(record)

    def flush(self) -> None:
        if not getattr(self.stream, "closed", False):  # a test, or the end of the program, may have closed it
            super().flush()


_logger = _logging.getLogger("situs")
_stderr = _Stderr()
_stderr.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
if not _logger.handlers:
    _logger.addHandler(_stderr)


@export("get_logger", v1=("get_logger", "logging.get_logger"), as_is=True)
def get_logger() -> _logging.Logger:
    """The logger that all messages go to."""
    return _logger


@export(v1="logging.get_verbosity", as_is=True)
def get_verbosity() -> int:
    """The least level that is logged; `WARN` unless the program says otherwise."""
    return _logger.getEffectiveLevel()


@export(v1="logging.set_verbosity", as_is=True)
def set_verbosity(v: int | str) -> None:
    """Sets the least level that is logged: `DEBUG`, `INFO`, `WARN`, `ERROR` or `FATAL`."""
    try:
        _logger.setLevel(v)
    except (TypeError, ValueError) as error:
        raise _ArgumentError(f"The verbosity is a level such as tf.logging.INFO, got {v!r}.") from error


def _level(level: object) -> int:
    if not isinstance(level, int):
        raise _DTypeError(f"A message has a level such as tf.logging.INFO, got {_shown(level)}.")
    return level


# Messages. Each is said to come from the line that logged it.


@export(v1="logging.log", as_is=True)
def log(level: int, msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at a level."""
    _logger.log(_level(level), msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.debug", as_is=True)
def debug(msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at the level `DEBUG`."""
    _logger.debug(msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.info", as_is=True)
def info(msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at the level `INFO`."""
    _logger.info(msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.warning", as_is=True)
def warning(msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at the level `WARN`."""
    _logger.warning(msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.warn", as_is=True)
def warn(msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at the level `WARN`."""
    _logger.warning(msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.error", as_is=True)
def error(msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at the level `ERROR`."""
    _logger.error(msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.fatal", as_is=True)
def fatal(msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at the level `FATAL`; the program goes on."""
    _logger.critical(msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.vlog", as_is=True)
def vlog(level: int, msg: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Logs ``msg % args`` at a level, which is one of Python's: small numbers are below `DEBUG`."""
    _logger.log(_level(level), msg, *args, stacklevel=2, **kwargs)


@export(v1="logging.TaskLevelStatusMessage", as_is=True)
def TaskLevelStatusMessage(msg: _Any) -> None:  # noqa: N802 - TensorFlow's name
    """Logs a message at the level `ERROR`."""
    _logger.error(msg, stacklevel=2)


# Messages now and then.

_counts: _Counter[tuple[str, int]] = _Counter()
_lock = _locks.lock()


@export(v1="logging.log_if", as_is=True)
def log_if(level: int, msg: _Any, condition: object, *args: _Any) -> None:
    """Logs ``msg % args`` if a condition holds."""
    if _holds(condition):
        _logger.log(_level(level), msg, *args, stacklevel=2)


@export(v1="logging.log_first_n", as_is=True)
def log_first_n(level: int, msg: _Any, n: int, *args: _Any) -> None:
    """Logs ``msg % args`` the first `n` times that this line of the program is reached."""
    if _times_before() < _number(n):
        _logger.log(_level(level), msg, *args, stacklevel=2)


@export(v1="logging.log_every_n", as_is=True)
def log_every_n(level: int, msg: _Any, n: int, *args: _Any) -> None:
    """Logs ``msg % args`` the first time that this line of the program is reached, and every `n` times after."""
    if _number(n) < 1:
        raise _ArgumentError(f"log_every_n logs every n times, for an n of at least 1, got {n!r}.")
    if _times_before() % n == 0:
        _logger.log(_level(level), msg, *args, stacklevel=2)


def _holds(condition: object) -> bool:
    try:
        return bool(condition)
    except ValueError as error:
        raise _ArgumentError(f"The condition of a message is true or false, got {_shown(condition)}.") from error


def _number(n: object) -> int:
    if not isinstance(n, int):
        raise _DTypeError(f"How often to log is an integer, got {_shown(n)}.")
    return n


def _times_before() -> int:
    """How often the line that calls the caller did so before."""
    frame = _sys._getframe(2)
    line = frame.f_code.co_filename, frame.f_lineno
    with _lock:
        _counts[line] += 1
        return _counts[line] - 1


@export(v1="logging.flush", as_is=True)
def flush() -> None:
    """Writes out what is waiting in the handlers."""
    for handler in _logger.handlers:
        handler.flush()
