"""Keras' `CallbackList` after a batch: losses and metrics are read only when a callback accesses them.

    Keras                     for each batch: wait for the device, read all logs; then tell the callbacks
    here                      tell the callbacks that listen; a callback of a program gets numbers, as before
        nobody listens        nothing is read
        the progress bar      gets tensors, and reads them when it draws: every 50 ms

Reading a number synchronizes with all earlier GPU work. The next batch can then only be launched after this one has
been computed, so that the GPU idles for as long as Python takes. `fit` with its default callbacks (the history, and a
progress bar) needs only the numbers of an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

# The methods of a callback list, each with the methods of a callback that hear of it: the first is called, and where
# that is Keras' own it calls the second.
_TOLD = {
    "_on_train_batch_end": ("on_train_batch_end", "on_batch_end"),
    "_on_test_batch_end": ("on_test_batch_end",),
    "_on_predict_batch_end": ("on_predict_batch_end",),
    "on_train_batch_begin": ("on_train_batch_begin", "on_batch_begin"),
    "on_test_batch_begin": ("on_test_batch_begin",),
    "on_predict_batch_begin": ("on_predict_batch_begin",),
}


def read_where_wanted(module: Any) -> None:
    """Changes what `CallbackList` does around a batch; the module has it, and Keras' progress bar."""
    for method, heard_by in _TOLD.items():
        setattr(module.CallbackList, method, _telling(heard_by, module.ProgbarLogger, module.python_utils))


def _telling(heard_by: tuple[str, ...], progress_bar: type, utils: Any) -> Callable[..., None]:
    is_default, read = utils.is_default, utils.pythonify_logs
    called = heard_by[0]

    def tell(self: Any, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        numbers: Mapping[str, Any] | None = None
        for callback in self.callbacks:
            if type(callback) is progress_bar:
                getattr(callback, called)(batch, logs=dict(_unread(logs or {})))
            elif not all(is_default(getattr(callback, name, None)) for name in heard_by):
                numbers = read(logs) if numbers is None else numbers
                getattr(callback, called)(batch, logs=numbers)

    tell.__name__ = called
    return tell


def _unread(logs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The logs in the order and form that Keras reads them in."""
    for name, value in sorted(logs.items()):
        if isinstance(value, dict):
            yield from _unread(value)
        else:
            yield name, value
