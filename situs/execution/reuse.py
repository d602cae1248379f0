"""Results written over inputs: the memory of a value that nobody needs any more goes on to the next one.

    %2 = MatMul(%0, %1)
    %3 = AddV2(%2, b)      written over %2
    %4 = Relu(%3)          written over %3: the three results are one piece of memory

A value may be overwritten by the call that reads it last, if

- it is memory of its own: made in this plan by an op of `NEW`, and read only by such, which keep no view of it.
  What is fed or fetched, constants, copies and what variables hold are thus never touched;
- the result surely has its dtype and shape: it is element-wise, and the other inputs broadcast into it.

Where calls run side by side, the one that overwrites waits for the others that read the value. It does not wait
for products, which take long: then it makes memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import torch
from torch.nn import functional

from situs.dtype import STRING, WIDE_UNSIGNED
from situs.execution.plan import Call, Placed, Slot, Source, makers, slots_in, waits_for
from situs.graph.node import Operation
from situs.registry.kernel import Kernel
from situs.shapes import SCALAR, TensorShape

Function = Callable[..., Any]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Element-wise ops, whose kernels are PyTorch's own functions for most dtypes. Not Conj: of real numbers, PyTorch
# returns its input.
UNARY = _names(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Erfc Erfinv Exp Expm1 Floor Invert "
    "LeakyRelu Lgamma Log Log1p LogicalNot Neg Reciprocal Relu Relu6 Rint Round Rsqrt Sigmoid Sign Silu Sin Sinh "
    "Sqrt Square Tan Tanh"
)
BINARY = _names(
    "AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor FloorMod LogicalAnd LogicalOr LogicalXor Maximum Minimum Mul "
    "NextAfter Pow RealDiv SquaredDifference Sub TruncateMod"
)
# The inputs that a result may take the place of.
PLACES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(UNARY, (0,)),
    **dict.fromkeys(BINARY, (0, 1)),
    "AddN": (0, 1),
    "BiasAdd": (0,),
    "ClipByValue": (0,),
    "ReluGrad": (0,),
    "Select": (1, 2),
    "SelectV2": (1, 2),
}
# Ops whose results are new memory in every case, and that keep nothing of their inputs.
NEW = frozenset[str]().union(
    UNARY,
    BINARY,
    _names(
        "Angle BiasAdd ClipByValue ComplexAbs Digamma DivNoNan FloorDiv Gelu LeftShift LogSigmoid MulNoNan RightShift "
        "Select"
    ),
    _names("BiasAddGrad EluGrad GeluGrad LeakyReluGrad Relu6Grad ReluGrad SeluGrad SiluGrad SoftplusGrad SoftsignGrad"),
    _names("Masked ReciprocalGrad RsqrtGrad SigmoidGrad SqrtGrad TanhGrad"),
    _names("SelectV2 Selu Softplus Softsign TruncateDiv Xdivy Xlog1py Xlogy"),
    _names("Equal Greater GreaterEqual IsFinite IsInf IsNan Less LessEqual NotEqual"),
    _names("Conv1D Conv1DBackpropInput Conv2D Conv2DBackpropInput Conv3D Conv3DBackpropInputV2 DepthwiseConv2dNative"),
    _names("AvgPool AvgPool1D AvgPool3D LRN LayerNorm LogSoftmax MatMul MaxPool MaxPool1D MaxPool3D Softmax"),
    _names("AvgPoolGrad DotProductAttention DotProductAttentionGrad LayerNormGrad MaxPoolGrad"),
    _names("All Any ArgMax ArgMin CountNonzero EuclideanNorm Max Mean Min Prod ReduceLogSumExp Sum"),
    _names("L2Loss LogPoissonLoss SigmoidCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits"),
    _names("SparseSoftmaxCrossEntropyWithLogits WeightedCrossEntropyWithLogits"),
    _names("ConcatV2 OnesLike Pack RandomStandardNormal RandomUniform Rank Shape Size TruncatedNormal ZerosLike"),
)
FIRST_IS_NEW = frozenset({"FusedBatchNormV3"})  # its other results may be its inputs
NOT_TORCHS = WIDE_UNSIGNED | STRING  # their kernels are NumPy's


def overwrite(calls: Sequence[Call], outputs: Sequence[Source], placed: Placed) -> None:
    """Lets element-wise calls of a plan write their results over inputs, where that is safe.

    Args:
        calls: The calls, in order; those that overwrite get another function, and wait for other readers.
        outputs: What the plan returns.
        placed: The kernels of the operations.
    """
    values = _Values(calls, outputs, placed)
    for number, call in enumerate(calls):
        for place, slot in _inputs(call):
            function = overwriting(call, placed, place) if values.may_go(slot, number) else None
            if function is not None:
                call.function, call.anew, call.overwrites = function, call.function, slot
                call.after = sorted({*call.after, *values.readers[slot]} - {number})
                break


def _inputs(call: Call) -> Iterator[tuple[int, int]]:
    """The inputs that a call might overwrite: their places and slots."""
    if call.node is None or call.node.type not in PLACES:
        return
    sources = _flat(call)
    for place in PLACES[call.node.type]:
        source = sources[place] if place < len(sources) else None
        if isinstance(source, Slot) and not source.host:
            yield place, source.number


def _flat(call: Call) -> Sequence[Source]:
    first = call.inputs[0]
    return first if isinstance(first, list) else call.inputs


# Whether a value may go.


class _Values:
    """Who makes each value of a plan, and who reads it."""

    def __init__(self, calls: Sequence[Call], outputs: Sequence[Source], placed: Placed) -> None:
        self.calls = calls
        self.placed = placed
        self.maker = makers(calls)
        self.readers: dict[int, list[int]] = {}
        for number, call in enumerate(calls):
            for slot in slots_in(call.inputs):
                self.readers.setdefault(slot, []).append(number)
        self.returned = set(slots_in(outputs))

    def may_go(self, slot: int, number: int) -> bool:
        """Whether a value is memory of its own, and this call the last to read it, and reads it once."""
        others = self.readers[slot][:-1]
        if number in others or slot in self.returned or not self._is_own(slot, number):
            return False
        return all(self._makes_new(other) and not self._is_long_wait(other, number) for other in others)

    def _is_own(self, slot: int, number: int) -> bool:
        maker = self.maker.get(slot)
        if maker is None:
            return False  # it came in
        call = self.calls[maker]
        if call.node is None or call.device is not self.calls[number].device:
            return False
        kernel = self.placed[call.node].kernel
        if call.node.type in FIRST_IS_NEW:
            return slot == call.outputs[0] and _is_ours(kernel)
        return self._makes_new(maker) and not kernel.host_output

    def _makes_new(self, number: int) -> bool:
        node = self.calls[number].node
        return node is not None and makes_new(node) and _is_ours(self.placed[node].kernel)

    def _is_long_wait(self, other: int, number: int) -> bool:
        """Whether another reader takes long and may go on beside this call."""
        node = self.calls[other].node
        return node is not None and is_product(node) and not self._before[number] >> other & 1

    @cached_property
    def _before(self) -> list[int]:
        """For each call the calls that are over when it begins, as the bits of a number."""
        found: list[int] = []
        for call in self.calls:
            bits = 0
            for other in waits_for(call, self.maker):
                bits |= found[other] | 1 << other
            found.append(bits)
        return found


def is_product(node: Operation) -> bool:
    """Whether an operation multiplies and adds up, which takes long: a matrix product or a convolution."""
    return node.type.startswith(("MatMul", "Conv", "DepthwiseConv"))


def makes_new(node: Operation) -> bool:
    """Whether an operation's result is new memory whatever its inputs, of which it keeps nothing."""
    if node.type == "AddN":
        return len(node.inputs) > 1
    if node.type == "Cast":  # what is cast to its own dtype, and the real part of a complex number, is a view
        source = node.inputs[0].dtype
        return source is not node.outputs[0].dtype and not source.is_complex
    return node.type in NEW


def _is_ours(kernel: Kernel) -> bool:
    """Whether a kernel is Situs' own; of one that the user registered nothing is known."""
    function: Any = kernel.function
    while isinstance(function, partial):
        function = function.func
    return str(function.__module__).partition(".")[0] in ("situs", "torch")


# How a result is written over an input.


class Over:
    """One of PyTorch's functions, with the result written over one of its inputs."""

    __slots__ = ("function", "place")

    def __init__(self, function: Function, place: int) -> None:
        self.function = function
        self.place = place

    def __call__(self, *values: Any) -> Any:
        """Calls the function and returns the input that it has overwritten."""
        return self.function(*values, out=values[self.place])


def overwriting(call: Call, placed: Placed, place: int) -> Function | None:
    """The function that makes a call's result in the memory of an input; None if there is none, or it may not fit.

    Args:
        call: The call of an operation of `PLACES`.
        placed: The kernels of the operations.
        place: Which input: its place in the list, for an op that takes a list.
    """
    node = call.node
    if node is None or not _fits(node, place):
        return None
    kernel = placed[node].kernel
    function = kernel.function
    if _is_torch(function) and kernel.lower is None:
        return _of_torch(function, place, node.type in BINARY)
    form = _FORMS.get(node.type)
    return None if form is None or not _is_ours(kernel) else form(node, place)


def _fits(node: Operation, place: int) -> bool:
    """Whether the result surely has the dtype and the shape of an input."""
    dtype = node.outputs[0].dtype
    if node.inputs[place].dtype is not dtype or dtype in NOT_TORCHS:
        return False
    if node.type in ("AddN", "ReluGrad"):
        return True  # all have one shape, or it fails
    if node.type == "BiasAdd":
        return _has_bias_for_each(node.inputs[0].shape, node.inputs[1].shape, node.attrs["data_format"])
    into = node.inputs[place].shape
    others = [other.shape for number, other in enumerate(node.inputs) if number != place]
    if node.type == "Select":  # a condition of rank 1 picks rows, and nothing else broadcasts
        return into.is_fully_defined() and others[1] == into and others[0] in (SCALAR, into)
    return all(_broadcasts(other, into) for other in others)


def _broadcasts(shape: TensorShape, into: TensorShape) -> bool:
    """Whether a tensor of one shape surely broadcasts into another shape without changing it."""
    if shape.rank is None or (shape.rank and into.rank is None):
        return False
    if not shape.rank:
        return True
    pairs = zip(reversed(shape.as_list()), reversed(into.as_list()), strict=False)
    return shape.rank <= len(into) and all(size == 1 or (size is not None and size == other) for size, other in pairs)


def _has_bias_for_each(value: TensorShape, bias: TensorShape, data_format: str) -> bool:
    """Whether there surely is one bias for each channel; a single one would broadcast where the kernel refuses it."""
    if value.rank is None or bias.rank != 1:
        return False
    channels = value[1 if data_format == "NCHW" else -1]
    return channels is not None and channels == bias[0]


def _is_torch(function: Function) -> bool:
    return getattr(torch, getattr(function, "__name__", ""), None) is function


def _of_torch(function: Function, place: int, takes_out: bool) -> Function | None:
    """The form of one of PyTorch's functions that overwrites an input: the in-place one, which is for the first."""
    name = f"{function.__name__}_"
    found: Function | None = getattr(torch.Tensor, name, None) or getattr(torch, name, None)
    if place == 0 and found is not None:
        return found
    return Over(function, place) if takes_out else None


# The same for kernels that are functions of ours. Each is given the operation, and the place of the input.


def _add_n(node: Operation, place: int) -> Function:
    def add(inputs: list[torch.Tensor]) -> torch.Tensor:
        total, others = inputs[place], [x for number, x in enumerate(inputs) if number != place]
        if any(x.shape != total.shape for x in others):
            raise ValueError("shapes differ")  # the shape rule says it better
        for x in others:
            total.add_(x)
        return total

    return add


def _bias_add(node: Operation, place: int) -> Function:
    if node.attrs["data_format"] != "NCHW":
        return torch.Tensor.add_
    sizes = [-1] + [1] * (len(node.inputs[0].shape) - 2)
    return lambda value, bias: value.add_(bias.view(sizes))


def _relu_grad(node: Operation, place: int) -> Function:
    def go_back(gradients: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        if gradients.shape != features.shape:
            raise ValueError("shapes differ")  # the shape rule says it better
        made: torch.Tensor = torch.ops.aten.threshold_backward.grad_input(gradients, features, 0, grad_input=gradients)
        return made

    return go_back


def _squared_difference(node: Operation, place: int) -> Function | None:
    if node.outputs[0].dtype.is_complex:
        return None
    return lambda x, y: torch.sub(x, y, out=(x, y)[place]).square_()


_FORMS: dict[str, Callable[[Operation, int], Function | None]] = {
    "AddN": _add_n,
    "BiasAdd": _bias_add,
    "ClipByValue": lambda node, place: torch.Tensor.clamp_,
    "Elu": lambda node, place: partial(functional.elu, inplace=True),
    "LeakyRelu": lambda node, place: partial(functional.leaky_relu, negative_slope=node.attrs["alpha"], inplace=True),
    "ReluGrad": _relu_grad,
    "Relu6": lambda node, place: partial(functional.relu6, inplace=True),
    "Select": lambda node, place: Over(torch.where, place),
    "SelectV2": lambda node, place: Over(torch.where, place),
    "Silu": lambda node, place: partial(functional.silu, inplace=True),
    "SquaredDifference": _squared_difference,
}
