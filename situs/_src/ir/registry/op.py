"""Ops: a name, a signature, attributes, a shape rule, kernels, and a gradient.

An op's parts are declared next to each other, in one family file of ``ops``:

    _matmul = op("MatMul", "a: T, b: T -> product: T", T=NUMERIC, transpose_a=False, transpose_b=False)

    @_matmul.shape
    def _(a, b, *, transpose_a, transpose_b): ...

    @_matmul.kernel(CPU)
    @_matmul.kernel(GPU, T=FLOATING | COMPLEX)
    def _(a, b, *, transpose_a, transpose_b): ...

    @_matmul.gradient
    def _(grad, a, b, *, transpose_a, transpose_b): ...

Keyword arguments of `op` that are sets of dtypes restrict the signature's type variables; the others are attributes
with their defaults. Calling an op, ``_matmul(a, b)``, goes to `runtime.dispatch`, which installs itself here as a hook:
this layer does not know how ops run.

A user adds a kernel to an existing op, or an op of their own, with the same calls.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import BuiltinFunctionType
from typing import Any, TypeVar

from situs._src.base.devices import scope
from situs._src.base.dtype import ALL, DType, DTypes, as_dtype
from situs._src.base.errors import AlreadyExistsError, ArgumentError, DTypeError, NotFoundError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.registry.gradient import GradientRule
from situs._src.ir.registry.kernel import CPU, GPU, Kernel, make_kernel
from situs._src.ir.registry.signature import ANY, HOST, NO_SIZE, Arg, Signature, parse_signature
from situs._src.ir.registry.traits import FRESH, Trait, Traits

F = TypeVar("F", bound=Callable[..., Any])
ShapeRule = Callable[..., Any]
Attrs = Mapping[str, Any]


@dataclass(frozen=True)
class InPlace:
    """How the result of an op overwrites an input; `Op.in_place` describes the fields."""

    places: tuple[int, ...]
    rule: Callable[[Any, int], Callable[..., Any] | None]
    fits: Callable[[Any, int], bool] | None


@export("extend.Op")
class Op:
    """One kind of operation. Compared by identity; there is one object per op name."""

    __slots__ = (
        "attr_names",
        "attrs",
        "card_inputs",
        "draws",
        "fresh_rule",
        "given_types",
        "gradient_rule",
        "hints_dtype",
        "in_place_rule",
        "is_found",
        "kernels",
        "kinds",
        "name",
        "overwrites",
        "shape_rule",
        "signature",
        "stateful",
        "static_rule",
        "traits",
        "types",
        "updates",
        "work_rule",
    )

    # Installed by situs._src.runtime.dispatch: runs the op, or adds it to a graph.
    apply: Callable[..., Any]

    def __init__(
        self,
        name: str,
        signature: Signature,
        types: Mapping[str, DTypes],
        attrs: Attrs,
        stateful: bool = False,
        traits: Iterable[Trait] = (),
    ) -> None:
        if not isinstance(signature, Signature):
            raise DTypeError(f"situs.extend.op(name, signature) declares an op; got {shown(signature)} as a signature.")
        self.name = name
        self.signature = signature
        self.types = types
        self.attrs = attrs
        self.stateful = stateful
        self.traits: Traits = frozenset(traits)
        from_inputs = {arg.type for arg in signature.inputs}
        # Type variables that occur in no input: the caller passes them, by name.
        self.given_types = tuple(name for name in signature.variables if name not in from_inputs)
        self.attr_names = attrs.keys() | set(self.given_types)
        # An op from state to state returns the new state; it overwrites if the old value does not matter.
        self.updates = any(arg.is_ref for arg in signature.inputs) and any(arg.is_ref for arg in signature.outputs)
        self.overwrites = False
        # Whether a Python value that does not fit the dtype of the first input is refused by the op, as a tensor of its
        # own dtype would be, and not where it is converted.
        self.hints_dtype = False
        # Whether it draws random numbers: it has a seed, or is given one, or the counter of a stream.
        self.draws = "seed" in attrs or any(arg.name in ("seed", "counter") for arg in signature.inputs)
        self.card_inputs: frozenset[str] = frozenset()  # host inputs that kernels take from a GPU's memory as well
        self.kinds = signature.kinds  # host inputs may make a result large, and are checked before
        self.shape_rule: ShapeRule | None = None
        self.gradient_rule: GradientRule | None = None
        self.kernels: list[Kernel] = []
        self.is_found = False  # whether a program has found it, and may add kernels that ignore its traits
        self.in_place_rule: InPlace | None = None
        self.fresh_rule: Callable[[Any], bool] | None = None
        self.work_rule: Callable[[Any], int | None] | None = None
        self.static_rule: Callable[..., Any] | None = None

    @property
    def inputs(self) -> tuple[Arg, ...]:
        """The declared inputs."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[Arg, ...]:
        """The declared outputs."""
        return self.signature.outputs

    def shape(self, rule: F) -> F:
        """Declares the shape rule.

        The rule takes the shapes of tensor inputs, the values of host inputs (None while unknown)
        and the attributes; it returns the shape of the result, or a tuple or list of shapes.
        """
        self.shape_rule = _checked(rule, f"The shape rule of {self.name}")
        return rule

    def gradient(self, rule: F) -> F:
        """Declares the gradient rule; `ir.registry.gradient` says how a rule is written."""
        names = [*self.attrs, *self.signature.variables]
        self.gradient_rule = GradientRule(_checked(rule, f"The gradient rule of {self.name}"), self.signature, names)
        return rule

    def passes_gradients(self) -> None:
        """Declares that gradients pass through the op unchanged; sparse ones stay sparse."""
        self.gradient(lambda grad: grad)
        assert self.gradient_rule is not None
        self.gradient_rule.takes_slices = True

    def stops_gradients(self) -> None:
        """Declares that the op has no gradient, although its results are numbers: a step function, for example."""
        nothing = (None,) * len([arg for arg in self.inputs if not arg.is_host])
        self.gradient(lambda grads: nothing[0] if len(nothing) == 1 else nothing)
        assert self.gradient_rule is not None
        self.gradient_rule.stops = True

    def takes_from_card(self, *names: str) -> None:
        """Declares that on a GPU the op takes some host inputs as tensors, if they are there: without synchronizing.

        Args:
            names: The inputs, which do not affect the shape of the result.
        """
        known = {arg.name for arg in self.inputs if arg.is_host}
        if not known.issuperset(names):
            raise ArgumentError(f"Op {self.name} ({self.signature}) has no host input {sorted({*names} - known)[0]!r}.")
        self.card_inputs = frozenset(names)

    def takes_no_size(self, *names: str) -> None:
        """Declares host inputs that cannot make a result large, such as seeds and bounds; by default each may.

        Args:
            names: The inputs; all of them if there are none.
        """
        known = {arg.name for arg in self.inputs if arg.is_host}
        if not known.issuperset(names):
            raise ArgumentError(f"Op {self.name} ({self.signature}) has no host input {sorted({*names} - known)[0]!r}.")
        none = names or known
        pairs = zip(self.inputs, self.kinds, strict=True)
        self.kinds = tuple(NO_SIZE if arg.is_host and arg.name in none else kind for arg, kind in pairs)

    # For passes, where a trait is not enough. A rule takes an operation of a graph.

    def in_place(self, *places: int, fits: Callable[[Any, int], bool] | None = None) -> Callable[[F], F]:
        """Declares how a result overwrites a dead input.

        The rule takes an operation and the index of the input to overwrite, and returns a function that does so and is
        otherwise like the kernel; None if there is none.

        Args:
            places: The inputs that a result may overwrite: for an op that takes a list, in that list.
            fits: Whether the result certainly has the shape of that input; by default, that the other inputs broadcast
                into it.
        """

        def declare(rule: F) -> F:
            self.in_place_rule = InPlace(places, _checked(rule, f"The in-place rule of {self.name}"), fits)
            return rule

        return declare

    def fresh_when(self, rule: Callable[[Any], bool]) -> None:
        """Declares for which operations the result is fresh memory, for an op that is `FRESH` only sometimes."""
        self.fresh_rule = _checked(rule, f"The rule of fresh results of {self.name}")

    def work(self, rule: Callable[[Any], int | None]) -> None:
        """Declares roughly how many multiplications an operation takes; None if its shapes are unknown."""
        self.work_rule = _checked(rule, f"The rule of the work of {self.name}")

    def static_value(self, rule: F) -> F:
        """Declares the static value of a result: as a number or a tuple, with None for unknown entries.

        The rule takes an operation, and a function that returns the value of an input, or None.
        """
        self.static_rule = _checked(rule, f"The rule of static values of {self.name}")
        return rule

    def is_fresh(self, node: Any) -> bool:
        """Whether the results of an operation of this op are fresh memory, which it does not reference."""
        return FRESH in self.traits if self.fresh_rule is None else self.fresh_rule(node)

    def kernel(
        self,
        *device_types: str,
        host_output: bool = False,
        lower: Callable[..., Callable[..., Any] | None] | None = None,
        settled: bool = False,
        keeps_traits: bool | None = None,
        **types: DTypes,
    ) -> Callable[[F], F]:
        """Declares a kernel for some device types and dtypes; the newest that matches is used.

        Args:
            device_types: ``"CPU"``, ``"GPU"`` or both.
            host_output: The result stays in host memory wherever the op runs.
            lower: May return a faster function for an operation of a graph; called with its inputs and attributes.
            settled: The dtypes of the inputs alone determine those of the results, which then need not be checked in
                every call.
            keeps_traits: Whether the kernel keeps the promises of the op's traits; by default so, except for a kernel
                that a program adds to an op it has looked up.
            types: Dtypes that the kernel supports, by type variable; by default all that the op allows.
        """
        unknown = types.keys() - set(self.signature.variables)
        if unknown:
            raise ArgumentError(f"Op {self.name} ({self.signature}) has no type variable {sorted(unknown)[0]!r}.")
        if not device_types or any(kind not in (CPU, GPU) for kind in device_types):
            raise ArgumentError(
                f"A kernel for {self.name} needs a device type: 'CPU', 'GPU' or both; got {device_types}."
            )
        served = {**self.types, **{variable: _dtypes(variable, given) for variable, given in types.items()}}

        def register(function: F) -> F:
            _checked(function, f"A kernel of {self.name}")
            sure = settled or (type(function) is BuiltinFunctionType and self._takes_one_dtype)
            keeps = not self.is_found if keeps_traits is None else keeps_traits
            for device_type in device_types:
                self._add(make_kernel(self.name, device_type, function, served, host_output, lower, sure, keeps))
            return function

        return register

    @property
    def _takes_one_dtype(self) -> bool:
        """Whether the op takes tensors of one dtype, and nothing else."""
        return len({arg.type for arg in self.inputs}) == 1 and self.inputs[0].type not in (HOST, ANY) and not self.attrs

    def _add(self, kernel: Kernel) -> None:
        self.kernels.append(kernel)
        scope.forget()

    def kernel_for(self, device_type: str, bound: Mapping[str, DType]) -> Kernel | None:
        """The kernel for these dtypes on this type of device, if there is one."""
        for kernel in reversed(self.kernels):
            if kernel.device_type == device_type and kernel.accepts(bound):
                return kernel
        return None

    def complete_attrs(self, attrs: Attrs) -> dict[str, Any]:
        """The attributes with defaults filled in, and the dtypes that only the caller knows.

        Raises:
            InvalidArgumentError: the op has no such attribute, or a dtype is missing.
        """
        unknown = attrs.keys() - self.attr_names
        if unknown:
            has = ", ".join(sorted(self.attr_names)) or "none"
            raise ArgumentError(f"Op {self.name} has no attribute {sorted(unknown)[0]!r}; it has: {has}.")
        complete = {**self.attrs, **attrs}
        for name in self.given_types:
            if name not in complete:
                raise ArgumentError(f"Op {self.name} ({self.signature}) needs a dtype for {name!r}.")
            complete[name] = as_dtype(complete[name])
        return complete

    def __call__(self, *inputs: Any, name: str | None = None, **attrs: Any) -> Tensor:
        """Runs an op that has one result."""
        result: Tensor = Op.apply(self, inputs, attrs, name)
        return result

    def many(self, *inputs: Any, name: str | None = None, **attrs: Any) -> list[Tensor]:
        """Runs an op that has several results, or a list of them."""
        results: list[Tensor] = Op.apply(self, inputs, attrs, name)
        return results

    def __repr__(self) -> str:
        return f"<Op {self.name}({self.signature})>"


_OPS: dict[str, Op] = {}


@export("extend.op")
def op(
    name: str, signature: str, *, stateful: bool = False, traits: Iterable[Trait] = (), **types_and_attrs: Any
) -> Op:
    """Declares an op.

    Args:
        name: TensorFlow's name for it, such as ``"MatMul"``.
        signature: Inputs and outputs; see `ir.registry.signature`.
        stateful: Whether two runs with the same inputs may give different results.
        traits: What passes may assume; see `ir.registry.traits`.
        types_and_attrs: Sets of dtypes for type variables; attributes with their defaults.

    Raises:
        AlreadyExistsError: there is an op of that name.
        InvalidArgumentError: the name, the signature or a set of dtypes is not valid.
    """
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"The name of an op is a word such as 'MatMul', got {shown(name)}.")
    if name in _OPS:
        raise AlreadyExistsError(f"There is an op {name!r} already: {_OPS[name]!r}. Give yours another name.")
    parsed = parse_signature(signature)
    types = {variable: _dtypes(variable, types_and_attrs.pop(variable, ALL)) for variable in parsed.variables}
    made = Op(name, parsed, types, types_and_attrs, stateful, traits)
    _OPS[name] = made
    return made


# Where ops are declared, most used first: a program, or a serialized graph, may need one that is not loaded yet.
_DECLARING = (
    "situs._src.ops",
    "situs._src.data",
    "situs._src.variables.state_ops",
    "situs._src.variables.apply_ops",
    "situs._src.variables.apply_rows",
    "situs._src.variables.scatter_ops",
    "situs._src.ops.image_resize",
    "situs._src.ops.image_filter",
    "situs._src.ops.image_glimpse",
    "situs._src.ops.image_suppression",
    "situs._src.ops.image_window",
    "situs._src.ops.betainc",
    "situs._src.ops.fingerprint",
    "situs._src.ops.matrix_functions",
    "situs._src.ops.image_boxes",
    "situs._src.ops.image_sampling",
    "situs._src.ops.image_codec",
    "situs._src.ops.audio_codec",
    "situs._src.ops.decode",
    "situs._src.ops.decode_csv",
    "situs._src.ops.parse_example",
    "situs._src.ops.serialize",
    "situs._src.ops.timing",
    "situs._src.ragged.strings",
    "situs._src.sparse",
    "situs._src.sparse.beam_search",
    "situs._src.sparse.crossing",
    "situs._src.sparse.products",
    "situs._src.sparse.sequences",
    "situs._src.sparse.sets",
    "situs._src.files.ops",
    "situs._src.files.matching",
    "situs._src.summaries.ops",
    "situs._src.summaries.kinds",
    "situs._src.variables.generator",
    "situs._src.autodiff.custom",
    "situs._src.checkpoints.checkpoint",
    "situs._src.distribute.collectives",
    "situs._src.distribute.packing",
)


def find_op(name: str) -> Op:
    """The op of that name.

    Raises:
        NotFoundError: there is none; the message names near ones.
    """
    found = _OPS.get(name) if isinstance(name, str) else None
    for module in _DECLARING:
        if found is not None or not isinstance(name, str):
            break
        import_module(module)
        found = _OPS.get(name)
    if found is None:
        raise NotFoundError(f"There is no op {name!r}.{_suggestion(name)}")
    return found


@export("extend.all_ops")
def all_ops() -> dict[str, Op]:
    """Every declared op, by name."""
    return dict(sorted(_OPS.items()))


def infer_shapes(declared: Op, inputs: tuple[Any, ...], attrs: Attrs) -> list[TensorShape]:
    """The shapes of an op's results, from its shape rule, always as a list."""
    assert declared.shape_rule is not None, f"op {declared.name} has no shape rule"
    result = declared.shape_rule(*inputs, **{k: v for k, v in attrs.items() if k in declared.attrs})
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _dtypes(variable: str, given: object) -> DTypes:
    """The dtypes that a declaration allows for a type variable."""
    if not isinstance(given, (frozenset, set, list, tuple)):
        raise ArgumentError(
            f"The dtypes of a type variable are a set: write {variable}=frozenset({{tf.float32}}), not {shown(given)}."
        )
    if isinstance(given, frozenset) and all(type(dtype) is DType for dtype in given):
        return given  # hundreds of kernels share a few sets
    return frozenset(map(as_dtype, given))


def _checked(function: F, what: str) -> F:
    if not callable(function):
        raise ArgumentError(f"{what} is a function, got {shown(function)}.")
    return function


def _suggestion(name: str) -> str:
    near = difflib.get_close_matches(str(name), _OPS, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(near)}?" if near else ""
