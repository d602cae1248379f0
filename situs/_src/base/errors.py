"""Every error that Situs raises on purpose, as one tree.

    SitusError
    ├── OperatorNotAllowedInGraphError (TypeError)         Python asks a tensor of a graph for its value
    ├── NoValueYetError             (NotImplementedError)  NumPy asks a tensor of a graph for its value
    └── OpError                     an op, a device or a setting was asked for something impossible
        ├── CancelledError          (RuntimeError)         the run was cancelled
        ├── UnknownError            (RuntimeError)         nothing better is known
        ├── InvalidArgumentError    (ValueError)           an op was given something that it cannot use
        │   ├── ArgumentError       (ValueError)           an argument is wrong: known before any op runs
        │   │   └── CallError                              so it is, and found by an op's rule
        │   ├── KernelError                                an argument is wrong: TensorFlow's kernel would say so
        │   ├── DTypeError          (TypeError)            the dtype is wrong, or values do not fit it
        │   │   ├── ConversionError                        a tensor is wanted as another dtype
        │   │   └── OpDTypeError                           an op that ran was given a wrong dtype
        │   └── UnknownDeviceError  (RuntimeError)         the device does not exist on this machine
        ├── DeadlineExceededError   (TimeoutError)         the time limit passed first
        ├── NotFoundError           (LookupError)          no such op, kernel, name or file
        ├── AlreadyExistsError      (ValueError)           the name is taken
        ├── PermissionDeniedError   (PermissionError)      the operating system said no
        ├── UnauthenticatedError    (PermissionError)      the caller is not known
        ├── ResourceExhaustedError  (MemoryError)          out of memory, or over a limit
        ├── FailedPreconditionError (RuntimeError)         too late, too early, or not initialised
        │   ├── StateError          (RuntimeError)         so is a call that no op runs for
        │   └── AlreadyInitializedError                    a setting came after the devices were made
        ├── AbortedError            (RuntimeError)         stopped by a conflict; trying again may help
        ├── OutOfRangeError         (IndexError)           past the end
        ├── UnimplementedError      (NotImplementedError)  legal, but no kernel does it
        ├── InternalError           (RuntimeError)         a bug in Situs or in a kernel
        ├── UnavailableError        (ConnectionError)      the other side is not there now
        └── DataLossError           (OSError)              the bytes are damaged

The builtin in brackets is a base class too, so ``except ValueError`` catches an ``InvalidArgumentError``. A message
says what was asked, what was found, and what would work. Numbers and names of the codes are TensorFlow's.

Errors that TensorFlow's Python code detects are plain builtin errors there, and errors that an op detects are from
``tf.errors``: programs and their tests rely on that. Here an ``ArgumentError``, a ``DTypeError`` and a ``StateError``
are displayed as ``ValueError``, ``TypeError`` and ``RuntimeError``; the first two become an ``InvalidArgumentError``
when an op that ran raises them (`OpError.in_op`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from situs._src.base.export import export, export_all

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16
export_all(
    "errors", "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"
)
export_all("errors", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE")
export_all("errors", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED")


@export("errors.SitusError")
class SitusError(Exception):
    """The root of the tree: catches everything Situs raises on purpose."""


@export("errors.OpError", v1="OpError")
class OpError(SitusError):
    """An op, a device or a setting was asked for something impossible.

    Built either from the message alone or, as in TensorFlow, from
    ``(node_def, op, message)``.

    Example:
        >>> InvalidArgumentError("rank must be 2, got 3").message
        'rank must be 2, got 3'
        >>> InvalidArgumentError(None, None, "rank must be 2").error_code
        3
    """

    code: ClassVar[int] = UNKNOWN

    def __init__(
        self, node_def: object = None, op: object = None, message: str | None = None, error_code: int | None = None
    ) -> None:
        if message is None and isinstance(node_def, str):
            node_def, message = None, node_def
        self.node_def = node_def
        self.op = op
        self.message = message or ""
        self._error_code = self.code if error_code is None else error_code
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    @property
    def error_code(self) -> int:
        """The integer code TensorFlow gives this kind of error."""
        return self._error_code

    def in_op(self, name: str | None = None) -> OpError:
        """This error as that of an op that ran, with the name of the op at the end of its message."""
        return self._named(name)._as(_OF_OPS)

    def in_building(self, name: str) -> OpError:
        """This error as that of an op that cannot be added to a graph, with the name of the op."""
        return self._named(name)._as(_OF_CALLS)

    def _named(self, op: str | None) -> OpError:
        if op is not None and "[Op:" not in self.message:
            self.message = f"{self.message} [Op:{op}]"
            self.args = (self.message,)
        return self

    def _as(self, classes: dict[type[OpError], type[OpError]]) -> OpError:
        wanted = classes.get(type(self))
        if wanted is None:
            return self
        made = wanted(self.node_def, self.op, self.message, self._error_code)
        return made.with_traceback(self.__traceback__)

    def __reduce__(self) -> tuple[Any, ...]:
        if type(self) in _SHOWN:  # a pickle does not find it by the name it is shown under
            return _rebuilt, (_SHOWN[type(self)], self.message)
        return type(self), (None, None, self.message)


@export("errors.CancelledError")
class CancelledError(OpError, RuntimeError):
    """The run was cancelled before it finished."""

    code = CANCELLED


@export("errors.UnknownError")
class UnknownError(OpError, RuntimeError):
    """Something failed and nothing better is known about it."""

    code = UNKNOWN


@export("errors.InvalidArgumentError")
class InvalidArgumentError(OpError, ValueError):
    """A shape, dtype, attribute, value or device name cannot be used."""

    code = INVALID_ARGUMENT


@export("errors.ArgumentError")
class ArgumentError(InvalidArgumentError):
    """An argument of a Python call cannot be used. Shown as a ``ValueError``, as TensorFlow's is."""


@export("errors.CallError")
class CallError(ArgumentError):
    """An op's rule finds what TensorFlow checks in Python, before the op: a ``ValueError`` even when the op runs."""


@export("errors.KernelError")
class KernelError(InvalidArgumentError):
    """A rule finds what TensorFlow's kernel checks: an ``InvalidArgumentError`` even when the op is only built."""


@export("errors.DTypeError")
class DTypeError(InvalidArgumentError, TypeError):
    """A tensor or value has the wrong dtype, or does not fit the dtype asked for. Shown as a ``TypeError``."""


@export("errors.ConversionError")
class ConversionError(DTypeError):
    """A tensor is wanted as another dtype. Shown as a ``ValueError``, as TensorFlow's is."""


@export("errors.OpDTypeError")
class OpDTypeError(DTypeError):
    """An op that ran was given a wrong dtype. Shown as an ``InvalidArgumentError``, as TensorFlow's is."""


@export("errors.UnknownDeviceError")
class UnknownDeviceError(InvalidArgumentError, RuntimeError):
    """The requested device does not exist on this machine.

    Cure: name a device that ``tf.config.list_logical_devices()`` shows, or let Situs
    choose another with ``tf.config.set_soft_device_placement(True)``.
    """


@export("errors.DeadlineExceededError")
class DeadlineExceededError(OpError, TimeoutError):
    """The time limit passed before the work was done."""

    code = DEADLINE_EXCEEDED


@export("errors.NotFoundError")
class NotFoundError(OpError, LookupError):
    """No such op, kernel, name or file."""

    code = NOT_FOUND


@export("errors.AlreadyExistsError")
class AlreadyExistsError(OpError, ValueError):
    """The name is taken by something else."""

    code = ALREADY_EXISTS


@export("errors.PermissionDeniedError")
class PermissionDeniedError(OpError, PermissionError):
    """The operating system refused."""

    code = PERMISSION_DENIED


@export("errors.UnauthenticatedError")
class UnauthenticatedError(OpError, PermissionError):
    """The caller is not known."""

    code = UNAUTHENTICATED


@export("errors.ResourceExhaustedError")
class ResourceExhaustedError(OpError, MemoryError):
    """A device ran out of memory, or a limit was reached. The program can go on."""

    code = RESOURCE_EXHAUSTED


@export("errors.FailedPreconditionError")
class FailedPreconditionError(OpError, RuntimeError):
    """The call is legal, but not in the state the runtime is in."""

    code = FAILED_PRECONDITION


@export("errors.StateError")
class StateError(FailedPreconditionError):
    """A Python call came too early or too late. Shown as a ``RuntimeError``, as TensorFlow's is."""


@export("errors.AlreadyInitializedError")
class AlreadyInitializedError(FailedPreconditionError):
    """A setting that shapes the devices came after they were made.

    Cure: move the call to the top of the program, before the first op, the first
    constant and ``tf.config.list_logical_devices()``.
    """


@export("errors.AbortedError")
class AbortedError(OpError, RuntimeError):
    """Stopped by a conflict with other work; trying again may help."""

    code = ABORTED


@export("errors.OutOfRangeError")
class OutOfRangeError(OpError, IndexError):
    """Past the end of a sequence, a queue or a dimension."""

    code = OUT_OF_RANGE


@export("errors.UnimplementedError")
class UnimplementedError(OpError, NotImplementedError):
    """The request is legal, but no kernel does it."""

    code = UNIMPLEMENTED


@export("errors.InternalError")
class InternalError(OpError, RuntimeError):
    """An invariant broke: a bug in Situs or in a registered kernel."""

    code = INTERNAL


@export("errors.UnavailableError")
class UnavailableError(OpError, ConnectionError):
    """The service on the other side is not there now."""

    code = UNAVAILABLE


@export("errors.DataLossError")
class DataLossError(OpError, OSError):
    """Bytes were lost or damaged."""

    code = DATA_LOSS


@export("errors.OperatorNotAllowedInGraphError")
class OperatorNotAllowedInGraphError(SitusError, TypeError):
    """A Python operation that needs a value was applied to a symbolic tensor."""


@export("errors.NoValueYetError")
class NoValueYetError(OperatorNotAllowedInGraphError, NotImplementedError):
    """A symbolic tensor was to become a NumPy array."""


@export("errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the class for one of TensorFlow's integer error codes."""
    if not isinstance(error_code, int) or error_code not in _BY_CODE:
        raise InvalidArgumentError(f"There is no error code {error_code!r}; the codes are {OK + 1} to {max(_BY_CODE)}.")
    return _BY_CODE[error_code]


@export("errors.error_code_from_exception_type")
def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns TensorFlow's integer code for an error class."""
    if not (isinstance(cls, type) and issubclass(cls, OpError)):
        raise InvalidArgumentError(f"Expected a subclass of tf.errors.OpError, got {cls!r}.")
    return cls.code


def shown(value: object, limit: int = 80) -> str:
    """The value as an error message shows it: never more than one line's worth, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # an object of the program, a list without end, an integer of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 3] + "..."


for _error in [each for each in vars().values() if isinstance(each, type) and issubclass(each, SitusError)]:
    _error.__module__ = "situs.errors"  # under which a traceback shows it

_BY_CODE: dict[int, type[OpError]] = {
    cls.code: cls
    for cls in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        UnauthenticatedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
    )
}

_OF_OPS: dict[type[OpError], type[OpError]] = {ArgumentError: InvalidArgumentError, DTypeError: OpDTypeError}
_OF_CALLS: dict[type[OpError], type[OpError]] = {InvalidArgumentError: ArgumentError, OpDTypeError: DTypeError}


def show_as(cls: type[OpError], shown_as: type[Exception]) -> None:
    """Prints errors of a class under the name of another, by which TensorFlow's programs know them."""
    _SHOWN[cls] = f"{cls.__module__}.{cls.__qualname__}"
    cls.__name__, cls.__qualname__, cls.__module__ = shown_as.__name__, shown_as.__qualname__, shown_as.__module__


def _rebuilt(known: str, message: str) -> OpError:
    return next(cls for cls, name in _SHOWN.items() if name == known)(message)


_SHOWN: dict[type[OpError], str] = {}  # what is shown under another name, with the name in the source
show_as(ArgumentError, ValueError)
show_as(CallError, ValueError)
show_as(StateError, RuntimeError)
show_as(AlreadyInitializedError, RuntimeError)
show_as(DTypeError, TypeError)
show_as(ConversionError, ValueError)
show_as(KernelError, InvalidArgumentError)
show_as(OpDTypeError, InvalidArgumentError)
