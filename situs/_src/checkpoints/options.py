"""``tf.train.CheckpointOptions``: how a checkpoint is written and read, and asynchronous writing.

options = tf.train.CheckpointOptions(enable_async=True)
checkpoint.save("run/ckpt", options)        returns when the values are captured; a thread writes them
checkpoint.sync()                           waits for it, and raises its errors
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.errors import DTypeError, InvalidArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.ops.attribute import as_bool


@export(
    "train.CheckpointOptions",
    differs="Skipping slots when restoring, and sharding by a callback, are errors: there "
    "is one file per device, and optimizers are saved with their slots.",
)
class CheckpointOptions:
    """How a checkpoint is written and read.

    Args:
        experimental_io_device: Accepted for TensorFlow's programs: files are those of this machine.
        experimental_enable_async_checkpoint: The older name of `enable_async`.
        experimental_write_callbacks: Functions that are called, in order, when a checkpoint has been written; each
            takes its path, or nothing.
        enable_async: Whether a thread writes the files while the program goes on. The values are those of the call.
        experimental_skip_slot_variables: Refused if true: an optimizer is restored with its slots.
        experimental_sharding_callback: Refused: every device has one file.

    Raises:
        AssertionError: a callback takes more than one argument.
    """

    __slots__ = (
        "enable_async",
        "experimental_enable_async_checkpoint",
        "experimental_io_device",
        "experimental_sharding_callback",
        "experimental_skip_slot_variables",
        "experimental_write_callbacks",
    )

    def __init__(
        self,
        experimental_io_device: Any = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ) -> None:
        if experimental_sharding_callback is not None:
            raise UnimplementedError(
                "A checkpoint has a file for each device; an experimental_sharding_callback is not asked. Leave it out."
            )
        if as_bool(experimental_skip_slot_variables, "experimental_skip_slot_variables"):
            raise UnimplementedError(
                "An optimizer is restored with its slots. Leave the optimizer out of the checkpoint object to restore "
                "the rest without them."
            )
        self.experimental_io_device = experimental_io_device
        self.enable_async = as_bool(enable_async, "enable_async") or as_bool(
            experimental_enable_async_checkpoint, "experimental_enable_async_checkpoint"
        )
        self.experimental_enable_async_checkpoint = self.enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        for callback in experimental_write_callbacks or ():
            if _parameters(callback) > 1:
                raise CallbackError(f"A callback takes the path of the checkpoint, or nothing; got {shown(callback)}.")
        self.experimental_sharding_callback = None
        self.experimental_skip_slot_variables = False

    def __copy__(self) -> CheckpointOptions:
        made = object.__new__(CheckpointOptions)
        for name in CheckpointOptions.__slots__:
            setattr(made, name, getattr(self, name))
        made.experimental_write_callbacks = copy.copy(self.experimental_write_callbacks)
        return made

    def tell(self, path: str) -> None:
        """Calls the callbacks: a checkpoint has been written."""
        for callback in self.experimental_write_callbacks or ():
            callback(path) if _parameters(callback) else callback()


class CallbackError(InvalidArgumentError, AssertionError):
    """A callback of checkpoints takes too many arguments; TensorFlow's programs know it as an ``AssertionError``."""


def _parameters(callback: Callable[..., Any]) -> int:
    if not callable(callback):
        raise DTypeError(f"experimental_write_callbacks are functions, got {shown(callback)}.")
    return len(inspect.signature(callback).parameters)


def as_options(options: object) -> CheckpointOptions:
    """The program's options; the default ones, if it gave none.

    Raises:
        DTypeError: these are not options.
    """
    if options is None:
        return CheckpointOptions()
    if not isinstance(options, CheckpointOptions):
        raise DTypeError(f"`options` must be a tf.train.CheckpointOptions, got {shown(options)}.")
    return options


class Background:
    """One piece of work at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Begins a piece of work; the one before it has to end first."""
        self.wait()

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run, name="situs-checkpoint")  # not a daemon: what is begun is written
        self._thread.start()

    def wait(self) -> None:
        """Waits for the work that has begun, and raises what it met."""
        if self._thread is None or self._thread is threading.current_thread():
            return
        self._thread.join()
        self._thread, error, self._error = None, self._error, None
        if error is not None:
            raise error

    def __deepcopy__(self, memo: dict[int, Any]) -> Background:
        return Background()
