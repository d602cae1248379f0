"""Variables in eager mode: named state on a device.

A variable is placed when it is made, by the rules of the op ``Variable``: where the scope asks, else on
the first GPU that has a kernel for its dtype (there is none for int32 and strings, as in TensorFlow).
Assignments run where the variable is, whatever the scope says. Its value is a tensor, and tensors
never change: an assignment exchanges the tensor, so what was read before stays as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from situs import dtype as dt
from situs.devices.scope import device
from situs.dtype import ALL, FIXED, NUMERIC, as_dtype
from situs.eager.bridge import Place
from situs.eager.convert import to_tensor
from situs.eager.execute import decide, execute, log, note
from situs.eager.tensor import EagerTensor, copy_to
from situs.errors import DTypeError, InvalidArgumentError, UnimplementedError
from situs.ops import operators
from situs.ops.array import identity
from situs.ops.attribute import as_bool, as_word
from situs.ops.define import CPU, GPU, op, same_shape
from situs.registry.op import Op
from situs.shapes import TensorShape
from situs.tensor import Tensor, read

# The ops of state. Their kernels compute the new value; the variable takes it over.

_variable = op("Variable", "initial_value: dtype -> ref: dtype", stateful=True)
_variable.shape(same_shape)
_variable.kernel(CPU)(lambda initial_value: initial_value)
_variable.kernel(GPU, dtype=FIXED - {dt.int32})(lambda initial_value: initial_value)

_assign = op("Assign", "value: T -> T", T=ALL, stateful=True)
_assign.shape(same_shape)
_assign.kernel(CPU)(lambda value: value)
_assign.kernel(GPU, T=FIXED)(lambda value: value)


def _update_op(name: str, kernel: Callable[..., Any]) -> Op:
    made = op(name, "ref: T, value: T -> T", T=NUMERIC, stateful=True)
    made.shape(same_shape)
    made.kernel(CPU, GPU)(kernel)
    return made


_assign_add = _update_op("AssignAdd", torch.add)
_assign_sub = _update_op("AssignSub", torch.sub)


class Variable:
    """A tensor that can be assigned to.

    Args:
        initial_value: The first value: anything `tf.constant` takes, a tensor, or a function giving one.
        trainable: Whether optimizers should change it.
        name: A name; ``Variable`` by default.
        dtype: The dtype; by default that of the value.
        shape: The shape it keeps; by default the value's. Unknown dimensions may change later.

    Example:
        >>> import situs as tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v.assign_add([1.0, 1.0]).numpy().tolist()
        [2.0, 3.0]
    """

    __array_priority__ = 100

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        if initial_value is None:
            raise InvalidArgumentError("The `initial_value` arg to `tf.Variable` must be specified.")
        value = initial_value() if callable(initial_value) and not isinstance(initial_value, Tensor) else initial_value
        self._name = "Variable" if name is None else as_word(name, "name") or "Variable"
        self.trainable = True if trainable is None else as_bool(trainable, "trainable")
        self.constraint = constraint
        self._lock = threading.Lock()
        self._tensor = _placed(value, None if dtype is None else as_dtype(dtype), self._name)
        self._shape = self._tensor.shape if shape is None else TensorShape(shape)
        self._check_shape(self._tensor)

    # What it is.

    @property
    def name(self) -> str:
        """The name, with the output number that TensorFlow shows."""
        return f"{self._name}:0"

    @property
    def dtype(self) -> dt.DType:
        """The dtype of the elements."""
        return self._tensor.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape it keeps."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._tensor.ndim

    @property
    def device(self) -> str:
        """The full name of the device that holds it."""
        return self._tensor.device

    @property
    def place(self) -> Place:
        """The device that holds it, and its dtype."""
        return self._tensor._place

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self._shape

    # Its value.

    def value(self) -> Tensor:
        """The value, on the device of the variable."""
        return self._tensor

    def read_value(self) -> Tensor:
        """The value, read by an op: on the device that the scope asks for, or the best one."""
        return identity(self._tensor)

    def numpy(self) -> Any:
        """A copy of the value as NumPy gives it."""
        return self._tensor.numpy()

    def __tensor__(self) -> EagerTensor:
        return self._tensor

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._tensor.__array__(dtype, copy)

    def __int__(self) -> int:
        return int(self._tensor)

    def __float__(self) -> float:
        return float(self._tensor)

    def __bool__(self) -> bool:
        return bool(self._tensor)

    def __index__(self) -> int:
        return self._tensor.__index__()

    def __len__(self) -> int:
        return len(self._tensor)

    def __iter__(self) -> Any:
        return iter(self._tensor)

    def __hash__(self) -> int:
        raise DTypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        with device(self.device):
            return Variable(self._tensor, self.trainable, name=self._name, shape=self._shape)

    def ref(self) -> Any:
        """A hashable reference to this variable."""
        return Tensor.ref(self)  # type: ignore[arg-type]

    # Assignment.

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Gives the variable a new value and returns it."""
        return self._change(_assign, value, name, reads=False)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Adds `delta` and returns the variable."""
        return self._change(_assign_add, delta, name, reads=True)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Subtracts `delta` and returns the variable."""
        return self._change(_assign_sub, delta, name, reads=True)

    def _change(self, update: Op, value: Any, name: str | None, reads: bool) -> Variable:
        given = self._as_new_value(read(value))
        self._check_shape(given)
        with self._lock:  # two threads that add must both be counted
            if reads and given.shape != self._tensor.shape:  # where the shape is partly open, it would broadcast
                raise self._mismatch(self._tensor.shape, given)
            inputs = (self._tensor, given) if reads else (given,)
            self._tensor = execute(update, inputs, {}, name, state=self)
        return self

    def _as_new_value(self, value: Any) -> EagerTensor:
        if isinstance(value, EagerTensor) and value.dtype is not self.dtype:
            raise DTypeError(
                f"Variable '{self.name}' is {self.dtype.name} and cannot take a {value.dtype.name} value. "
                f"Use tf.cast(value, tf.{self.dtype.name})."
            )
        return value if isinstance(value, EagerTensor) else to_tensor(value, self.dtype)

    def _check_shape(self, value: Tensor) -> None:
        if not self._shape.is_compatible_with(value.shape):
            raise self._mismatch(self._shape, value)

    def _mismatch(self, shape: TensorShape, value: Tensor) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable shape {shape}, and the "
            f"assigned value shape {value.shape} are incompatible."
        )

    def __repr__(self) -> str:
        inside = repr(self._tensor).partition("numpy=")[2]
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self.dtype.name}, numpy={inside}"


def _refuse_in_place(variable: Variable, other: object) -> Variable:
    raise UnimplementedError(
        "Variable += value not supported. Use `variable.assign_add(value)` to modify the variable value and "
        "`variable = variable + value` to get a new Tensor object."
    )


operators.install(Variable)
for _name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"):
    setattr(Variable, f"__{_name}__", _refuse_in_place)


def _placed(value: Any, dtype: dt.DType | None, name: str) -> EagerTensor:
    """The first value, on the device that the placement rules give to the variable."""
    value = read(value)
    tensor = value if isinstance(value, EagerTensor) and dtype is None else to_tensor(value, dtype)
    assignment = decide(_variable, {"dtype": tensor.dtype}, name)
    note(assignment)
    log(assignment)
    return copy_to(tensor, assignment.device)
