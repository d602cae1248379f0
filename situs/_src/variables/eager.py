"""Variables in eager mode: named state on a device.

A variable is placed when it is created, by the rules of the op ``Variable``: where the scope requests, else on the
first GPU that has a kernel for its dtype (there is none for int32 and strings, as in TensorFlow). Assignments run on
the variable's device, whatever the scope. Its value is a tensor, and tensors are immutable: an assignment replaces the
tensor, so a value that was read before does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device, generation, here
from situs._src.base.dtype import as_dtype
from situs._src.base.errors import (
    ArgumentError,
    DTypeError,
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    OutOfRangeError,
    StateError,
    UnimplementedError,
)
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, DeviceLike, DTypeLike, SessionLike, ShapeLike
from situs._src.ir.graph.context import current_name_scope, init_scope
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ops import operators
from situs._src.ops.array import identity
from situs._src.ops.attribute import as_bool, as_int, as_word
from situs._src.ops.constant import constant
from situs._src.runtime.eager.allocations import enter_variable
from situs._src.runtime.eager.bridge import Place
from situs._src.runtime.eager.cell import VARIABLES, Cell
from situs._src.runtime.eager.convert import to_tensor
from situs._src.runtime.eager.execute import Step, decide, execute, log, note, recall, run_step
from situs._src.runtime.eager.in_place import exchange
from situs._src.runtime.eager.oom import exhausted, is_shortage
from situs._src.runtime.eager.tape import new_key, read_variable
from situs._src.runtime.eager.tensor import EagerTensor, copy_to, html_of, wrap
from situs._src.variables import state_ops
from situs._src.variables.capture import captured_variable
from situs._src.variables.creators import Created
from situs._src.variables.parts import install_parts
from situs._src.variables.replication import VariableAggregation, VariableSynchronization, check_constraint, settled
from situs._src.variables.slicing import SaveSliceInfo
from situs._src.variables.updates import Updatable

on_create: list[Callable[[Any], None]] = []  # asked before a variable is made: `tracing` has a say
_ANY_SHAPE = {"validate_shape": False}
value_now: Callable[[Any], Any] | None = None  # the value of a symbolic tensor; `tracing` knows how to find it


@export(
    "Variable",
    v1=(),
    differs="A value that was read from it does not change when it is assigned. copy.deepcopy "
    "stays on the variable's device, and keeps a partially known shape.",
)
class Variable(Updatable, metaclass=Created):
    """A tensor that can be assigned to.

    Args:
        initial_value: The first value: anything `tf.constant` takes, a tensor, or a function giving one.
        trainable: Whether optimizers should change it.
        name: A name; ``Variable`` by default. The name scope around it is put before it.
        dtype: The dtype; by default that of the value.
        constraint: A function that optimizers apply after a change.
        synchronization: Kept, and what is read from copies is not trainable by default.
        aggregation: Kept.
        shape: The shape it keeps; by default the value's. Unknown dimensions may change later.

    Example:
        >>> import situs as tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v.assign_add([1.0, 1.0]).numpy().tolist()
        [2.0, 3.0]
    """

    __slots__ = ("_cell",)  # every op on a variable asks for it
    __array_priority__ = 100
    arguments = (
        *("initial_value", "trainable", "validate_shape", "caching_device", "name", "variable_def", "dtype"),
        *("import_scope", "constraint", "synchronization", "aggregation", "shape"),
    )
    SaveSliceInfo = SaveSliceInfo

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An eager variable, or one of the graph being built; a ``tf.function`` uses eager ones."""
        if here.graph is not None and not outermost(here.graph).compares_elements:
            from situs._src.variables.symbolic import RefVariable  # which needs this class

            return RefVariable(*args, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: DeviceLike | None = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        import_scope: Any = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: ShapeLike | None = None,
    ) -> None:
        for check in on_create:
            check(self)
        check_constraint(constraint)
        self.constraint = constraint
        self._synchronization, self._aggregation, self.trainable = settled(
            synchronization, aggregation, None if trainable is None else as_bool(trainable, "trainable"), name
        )
        self._name = _scoped(name)
        if here.graph is not None:
            with init_scope():
                self._init(initial_value, dtype, shape)
        else:
            self._init(initial_value, dtype, shape)

    def _init(self, initial_value: Any, dtype: Any, shape: Any) -> None:
        if initial_value is None:
            raise ArgumentError("The `initial_value` arg to `tf.Variable` must be specified.")
        value = initial_value() if callable(initial_value) and not isinstance(initial_value, Tensor) else initial_value
        if isinstance(value, SymbolicTensor) and value_now is not None:
            value = value_now(value)
        first = _placed(value, None if dtype is None else as_dtype(dtype), self._name)
        self._shape = first.shape if shape is None else TensorShape(shape)
        self._check_shape(first)
        self._made_by = first._made_by
        self._key = new_key()
        self._memo: dict[Any, Step] = {}
        self._rules = generation()
        self._cell = Cell(self._name, first.dtype, self._shape, first._place, first._value)
        enter_variable(first._value, first._place.device, self._name)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Ops take the values of a new class of variables as they are, unless it has its own way to be read."""
        super().__init_subclass__(**kwargs)
        if cls.__tensor__ is Variable.__tensor__:
            VARIABLES.add(cls)

    @property
    def _tensor(self) -> EagerTensor:
        try:
            return wrap(self._cell.read(), self._cell.place, self._made_by)
        except Exception as error:  # it was moved to the host, and there is no room for it to come back
            if is_shortage(error):
                raise exhausted(error, self._cell.place.device, f"Variable {self._name}") from None
            raise

    def _component(self) -> Variable:
        """What has the value: itself, but for variables of a strategy, which have one for each device."""
        return self

    # What it is.

    @property
    def name(self) -> str:
        """The name, with the output number that TensorFlow shows."""
        return f"{self._name}:0"

    @property
    def dtype(self) -> dt.DType:
        """The dtype of the elements."""
        return self._cell.dtype

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
        return self._cell.place.device.name

    @property
    def place(self) -> Place:
        """The device that holds it, and its dtype."""
        return self._cell.place

    @property
    def memo(self) -> dict[Any, Step]:
        """How updates of this variable run: what is remembered as long as the rules of placement do not change."""
        rules = generation()
        if self._rules != rules:
            self._memo, self._rules = {}, rules
        return self._memo

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the shape.

        Raises:
            ValueError: the variable has another one.
        """
        self._shape = self._shape.merge_with(TensorShape(shape))

    @property
    def synchronization(self) -> VariableSynchronization:
        """What it was made with; there is one copy of it."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """What it was made with; there is one copy of it."""
        return self._aggregation

    @property
    def initializer(self) -> None:
        """None: it has had a value since it was made."""
        return

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A tensor that says that it has a value."""
        return constant(True, name=name or "Const")

    @property
    def handle(self) -> Any:
        """What stands for its state: in a graph the tensor that ops on variables take."""
        return VariableHandle(self) if here.graph is None else captured_variable(here.graph, self)

    @property
    def _shared_name(self) -> str:
        """The name without the output number."""
        return self._name

    @property
    def _unique_id(self) -> str:
        """What tells it from every other variable of the process, which may have the same name."""
        return f"{self._name}_{self._key}"

    @property
    def initial_value(self) -> Tensor:
        """Kept by variables of graphs only.

        Raises:
            RuntimeError: always.
        """
        raise StateError("This property is not supported when eager execution is enabled.")

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Variables of graphs have names that a message can have; this one is an object of this process.

        Raises:
            RuntimeError: always.
        """
        raise StateError("This operation is not supported when eager execution is enabled.")

    # Its value.

    def value(self) -> Tensor:
        """The value, on the device of the variable."""
        return self.__tensor__()

    def read_value(self) -> Tensor:
        """The value, read by an op: on the device that the scope asks for, or the best one."""
        return identity(self.__tensor__())

    def numpy(self) -> Any:
        """A copy of the value as NumPy gives it."""
        return self._value_now().numpy()

    def __tensor__(self) -> Tensor:
        if here.graph is not None:
            return self._in_graph()
        value = self._tensor
        if here.tapes:
            read_variable(value, self._key, self)
        return value

    def _value_now(self) -> EagerTensor:
        """The value, where a number is wanted and not a tensor: a graph would keep it for ever."""
        if here.graph is not None:
            raise OperatorNotAllowedInGraphError(
                f"Variable '{self.name}' has no value while a graph is being built; the graph reads it when it runs. "
                "Use the variable itself in ops, or take its value outside of the tf.function."
            )
        return self._tensor

    def _in_graph(self) -> Tensor:
        """What the variable holds when the graph being built runs."""
        return identity(captured_variable(here.graph, self))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Any:
        return self._value_now().__array__(dtype, copy)

    def __int__(self) -> int:
        return int(self._value_now())

    def __float__(self) -> float:
        return float(self._value_now())

    def __complex__(self) -> complex:
        return complex(self._value_now())

    def __bool__(self) -> bool:
        return bool(self._value_now())

    def __index__(self) -> int:
        return self._value_now().__index__()

    def __len__(self) -> int:
        return len(self._tensor)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.__tensor__())

    def __hash__(self) -> int:
        raise DTypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        self._check_has_value_now("__deepcopy__()")
        with device(self.device):
            first, shape = self._tensor, self._shape
            made = Variable(first, self.trainable, name=f"{self._name}/", shape=shape, constraint=self.constraint)
        made._synchronization, made._aggregation = self._synchronization, self._aggregation
        return made

    def __reduce__(self) -> Any:
        self._check_has_value_now("pickle")
        facts = {"trainable": self.trainable, "name": self._name, "shape": self._shape, "constraint": self.constraint}
        return _unpickle, (type(self), self._tensor, facts)

    def _check_has_value_now(self, asked: str) -> None:
        if here.graph is not None:
            raise UnimplementedError(
                f"{asked} of the variable {self.name} is only available when eager execution is enabled: in a graph, "
                "its value is not known yet."
            )

    def ref(self) -> Any:
        """A hashable reference to this variable."""
        return Tensor.ref(self)  # type: ignore[arg-type]

    # Assignment.

    def assign(
        self, value: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Gives the variable a new value and returns it; with ``read_value=False`` None, in a graph the operation."""
        return self._change(state_ops.assign, value, name, read_value)

    def assign_add(
        self, delta: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds `delta` and returns the variable, as `assign` does."""
        return self._change(state_ops.assign_add, delta, name, read_value)

    def assign_sub(
        self, delta: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts `delta` and returns the variable, as `assign` does."""
        return self._change(state_ops.assign_sub, delta, name, read_value)

    def load(self, value: ArrayLike, session: SessionLike | None = None) -> None:
        """Gives the variable a new value; programs of TensorFlow 1 put one into a session this way."""
        self.assign(value)

    def count_up_to(self, limit: int) -> Tensor:
        """Returns the value of an integer variable and adds 1 to it.

        Raises:
            OutOfRangeError: it has reached `limit`.
        """
        return self._update(  # type: ignore[no-any-return]
            state_ops.count_up_to, (), {"limit": as_int(limit, "limit")}, None
        )

    def _change(self, update: Op, value: ArrayLike, name: str | None, read_value: bool = True) -> Any:
        if here.graph is not None:
            if read_value:
                return self._update(update, (value,), {}, name)
            made: Any = update(captured_variable(here.graph, self), value, name=name)
            return made.op
        given = self._as_new_value(read(value))
        with self._cell.lock:  # two threads that add must both be counted
            old = self._tensor
            if given._value.shape != old._value.shape:  # else it fits as well as what is there
                self._check_shape(given)
                if not update.overwrites:  # where the shape is partly open, it would broadcast
                    raise self._mismatch(old.shape, given)
            attrs = _ANY_SHAPE if update.overwrites else {}  # an open dimension may change
            step = self.memo.get((update, old._place, given._place))
            if step is None:
                made = self._made(update, (old, given), attrs, name)
            else:
                made = run_step(step, (old._value, given._value), (old, given), attrs)
            del old
            self._put(made)
        return self if read_value else None

    def _update(self, update: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
        if here.graph is not None:
            made = update(captured_variable(here.graph, self), *inputs, name=name, **attrs)
            if not update.updates or not outermost(here.graph).compares_elements:
                return made  # in a session's graph it has to be fetched to happen
        elif update in (state_ops.assign, state_ops.assign_add, state_ops.assign_sub):
            self._change(update, inputs[0], name)
        elif update is state_ops.count_up_to:
            return self._counted(attrs["limit"])
        elif not update.updates:
            raise UnimplementedError(f"{update.name} works on variables of graphs; '{self.name}' is an eager one.")
        else:
            with self._cell.lock:
                self._put(self._made(update, (self._tensor, *map(read, inputs)), attrs, name))
        return self

    def _counted(self, limit: int) -> Tensor:
        if not self.dtype.is_integer:
            raise DTypeError(f"Variable '{self.name}' is {self.dtype.name}; only integers are counted.")
        with self._cell.lock:
            before = self._tensor
            if int(before) >= limit:
                raise OutOfRangeError(f"Reached limit of {limit} [Op:CountUpTo]")
            self._change(state_ops.assign_add, 1, None)
        return before

    def _made(self, update: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> EagerTensor:
        """What the variable becomes."""
        found = recall(update, inputs, attrs, self.memo)
        made: EagerTensor = (
            run_step(*found, inputs, attrs) if found else execute(update, inputs, attrs, name, state=self)
        )
        return made

    def _put(self, new: EagerTensor) -> None:
        exchange(self._cell, new._value)
        self._made_by = new._made_by
        enter_variable(self._cell.value, new._place.device, self._name)

    def _as_new_value(self, value: ArrayLike) -> EagerTensor:
        if type(value) is EagerTensor and value._place.dtype is self._cell.dtype:
            return value
        if isinstance(value, EagerTensor):
            raise DTypeError(
                f"Variable '{self.name}' is {self.dtype.name} and cannot take a {value.dtype.name} value. "
                f"Use tf.cast(value, tf.{self.dtype.name})."
            )
        return to_tensor(value, self.dtype)

    def _check_shape(self, value: Tensor) -> None:
        if not self._shape.is_compatible_with(value.shape):
            raise self._mismatch(self._shape, value)

    def _mismatch(self, shape: TensorShape, value: Tensor) -> InvalidArgumentError:
        return ArgumentError(
            f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable shape {shape}, and the "
            f"assigned value shape {value.shape} are incompatible."
        )

    def __repr__(self) -> str:
        inside = repr(self._tensor).partition("numpy=")[2]
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self.dtype.name}, numpy={inside}"

    def _repr_html_(self) -> str:
        return html_of(self._tensor, f"tf.Variable {self.name}")


class VariableHandle:
    """Stands for the state of an eager variable where programs ask for its handle.

    Args:
        variable: The variable.
    """

    dtype = dt.resource
    shape = SCALAR

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    @property
    def device(self) -> str:
        """The full name of the device that holds it."""
        return self.variable.device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableHandle) and other.variable is self.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __repr__(self) -> str:
        return f"<VariableHandle of '{self.variable.name}' on {self.device}>"


def variable_behind(item: object) -> Any:
    """The variable, or its state, that something stands for which has the handle of one; else the thing itself."""
    if isinstance(item, (Variable, Tensor)):
        return item
    handle = item if isinstance(item, VariableHandle) else getattr(item, "handle", None)
    if isinstance(handle, VariableHandle):
        return handle.variable
    return handle if isinstance(handle, SymbolicTensor) and handle.is_ref else item


def _scoped(name: str | None) -> str:
    """A name behind that of the name scope around it; one that ends in a slash is taken as it is."""
    wanted = "Variable" if name is None else as_word(name, "name") or "Variable"
    if wanted.endswith("/"):
        return wanted[:-1]
    scope = current_name_scope()
    return f"{scope}/{wanted}" if scope else wanted


def _refuse_in_place(variable: Variable, other: object) -> Variable:
    raise UnimplementedError(
        "Variable += value not supported. Use `variable.assign_add(value)` to modify the variable value and "
        "`variable = variable + value` to get a new Tensor object."
    )


VARIABLES.add(Variable)
operators.install(Variable)
install_parts(Variable)
for _name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"):
    setattr(Variable, f"__{_name}__", _refuse_in_place)


def _unpickle(kind: type[Variable], value: EagerTensor, facts: dict[str, Any]) -> Variable:
    return kind(value, **facts)


def _placed(value: ArrayLike, dtype: dt.DType | None, name: str) -> EagerTensor:
    """The first value, on the device that the placement rules give to the variable."""
    value = read(value)
    tensor = value if isinstance(value, EagerTensor) and dtype is None else to_tensor(value, dtype)
    assignment = decide(state_ops.variable, {"dtype": tensor.dtype}, name)
    note(assignment)
    log(assignment)
    return copy_to(tensor, assignment.device)
