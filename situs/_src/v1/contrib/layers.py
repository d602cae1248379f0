"""``tf.contrib.layers``: layers as functions, with variables named ``weights`` and ``biases``.

    fully_connected(x, 10)          fully_connected/weights, fully_connected/biases; then fully_connected_1/...
    conv2d(x, 8, 3)                 Conv/weights, Conv/biases
    batch_norm(x)                   BatchNorm/beta, BatchNorm/moving_mean, BatchNorm/moving_variance
    layer_norm(x)                   LayerNorm/beta, LayerNorm/gamma

By default they apply a ReLU, and use Xavier's initializer. ``arg_scope`` sets their default arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from situs._src.base.dtype import float16 as _float16
from situs._src.base.errors import ArgumentError as _ArgumentError
from situs._src.base.errors import DTypeError as _DTypeError
from situs._src.base.errors import shown as _shown
from situs._src.base.tree import listed as _listed
from situs._src.base.typing import ArrayLike, InitializerLike, IntLike, IntsLike, ShapeLike
from situs._src.ir.graph.context import add_to_collections as _add_to_collections
from situs._src.ir.graph.context import control_dependencies as _control_dependencies
from situs._src.ir.graph.context import get_default_graph as _get_default_graph
from situs._src.ir.graph.context import name_scope as _name_scope
from situs._src.ir.graph.tensor import SymbolicTensor as _SymbolicTensor
from situs._src.ops.array import identity as _identity
from situs._src.ops.array import reshape as _reshape
from situs._src.ops.array import shape as _shape_of
from situs._src.ops.attribute import as_int as _as_int
from situs._src.ops.constant import convert_to_tensor as _convert
from situs._src.ops.contract import tensordot as _tensordot
from situs._src.ops.control import smart_cond as _smart_cond
from situs._src.ops.gather import one_hot as _one_hot
from situs._src.ops.linalg import matmul as _matmul
from situs._src.ops.nn.activation import relu as _relu
from situs._src.ops.nn.bias import bias_add as _bias_add
from situs._src.ops.nn.conv import convolution as _convolution
from situs._src.ops.nn.conv_transpose import conv2d_transpose as _conv2d_transpose
from situs._src.ops.nn.depthwise import depthwise_conv2d as _depthwise
from situs._src.ops.nn.depthwise import separable_conv2d as _separable
from situs._src.ops.nn.dropout import dropout as _dropout
from situs._src.ops.nn.embedding import embedding_lookup as _embedding_lookup
from situs._src.ops.nn.normalize import batch_normalization as _batch_normalization
from situs._src.ops.nn.normalize import moments as _moments
from situs._src.ops.nn.pool import pool as _pool
from situs._src.sparse.lookups import safe_embedding_lookup_sparse_v1 as safe_embedding_lookup_sparse
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.contrib.arguments import add_arg_scope as _add_arg_scope
from situs._src.v1.contrib.steps import optimize_loss as optimize_loss
from situs._src.v1.contrib.steps import summarize_activation as summarize_activation
from situs._src.v1.contrib.steps import summarize_tensor as summarize_tensor
from situs._src.v1.contrib.steps import summarize_tensors as summarize_tensors
from situs._src.v1.contrib.weights import apply_regularization as apply_regularization
from situs._src.v1.contrib.weights import l1_l2_regularizer as l1_l2_regularizer
from situs._src.v1.contrib.weights import l1_regularizer as l1_regularizer
from situs._src.v1.contrib.weights import l2_regularizer as l2_regularizer
from situs._src.v1.contrib.weights import sum_regularizer as sum_regularizer
from situs._src.v1.contrib.weights import variance_scaling_initializer as variance_scaling_initializer
from situs._src.v1.contrib.weights import xavier_initializer as xavier_initializer
from situs._src.v1.contrib.weights import xavier_initializer as xavier_initializer_conv2d
from situs._src.v1.frontend import builds as _builds
from situs._src.v1.layers.normalization import BatchNormalization as _BatchNormalization
from situs._src.variables.collections import GraphKeys as _Keys
from situs._src.variables.initializers import Ones as _Ones
from situs._src.variables.initializers import Zeros as _Zeros
from situs._src.variables.scope import VariableScope
from situs._src.variables.scope import get_variable as _get_variable
from situs._src.variables.scope import variable_scope as _variable_scope
from situs._src.variables.store import ReuseMode

_XAVIER, _ZEROS = xavier_initializer(), _Zeros()


class _Layer:
    """What functions with weights share: variables, and what follows the multiplication."""

    def __init__(self, given: dict[str, Any], scope: str) -> None:
        self.given = given
        self.scope = scope

    @contextmanager
    def inside(self) -> Any:
        given = self.given
        with _variable_scope(given["scope"], self.scope, reuse=given["reuse"]) as entered:
            self.name = entered.name
            yield

    def variable(self, name: str, shape: list[Any], part: str) -> Any:
        """A variable of the layer; `part` says which of the arguments are its own."""
        collections = self.given["variables_collections"]
        if isinstance(collections, dict):
            collections = collections.get(part)
        return _get_variable(
            name,
            shape,
            initializer=self.given[f"{part}_initializer"],
            regularizer=self.given[f"{part}_regularizer"],
            trainable=self.given["trainable"],
            collections=[_Keys.GLOBAL_VARIABLES, _Keys.MODEL_VARIABLES, *(collections or [])],
        )

    def finish(self, outputs: Any, count: IntLike, data_format: str | None = None) -> Any:
        """Adds biases or normalises, and applies the function."""
        given = self.given
        if given["normalizer_fn"] is not None:
            outputs = given["normalizer_fn"](outputs, **(given["normalizer_params"] or {}))
        elif given["biases_initializer"] is not None:
            biases = self.variable("biases", [count], "biases")
            outputs = _bias_add(outputs, biases, "NCHW" if data_format and data_format[1] == "C" else None)
        if given["activation_fn"] is not None:
            outputs = given["activation_fn"](outputs)
        return _collected(outputs, given["outputs_collections"])


def _collected(outputs: Any, collections: Any) -> Any:
    if collections:
        _add_to_collections([collections] if isinstance(collections, str) else collections, outputs)
    return outputs


def _known(size: Any, what: str, shape: ShapeLike) -> int:
    if size is None:
        raise _ArgumentError(f"The {what} of inputs must be known, got a tensor of shape {shape}.")
    return int(size)


@_add_arg_scope
@_builds
def fully_connected(
    inputs: ArrayLike,
    num_outputs: int,
    activation_fn: Callable[..., Any] = _relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: InitializerLike = _XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: InitializerLike = _ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Sequence[str] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Multiplies the last dimension with a matrix, adds biases, and applies a function.

    Args:
        inputs: A tensor of at least two dimensions.
        num_outputs: The size of the last dimension of the outputs.
        activation_fn: A function; None for none.
        normalizer_fn: A function instead of biases, such as `batch_norm`.
        normalizer_params: Its arguments.
        weights_initializer: How the matrix begins.
        weights_regularizer: A loss of the matrix, which joins ``REGULARIZATION_LOSSES``.
        biases_initializer: How the biases begin; None for no biases.
        biases_regularizer: A loss of the biases, likewise.
        reuse: Whether to find the variables of a layer of this scope.
        variables_collections: Collections that the variables join; a list, or one for ``weights`` and ``biases`` each.
        outputs_collections: Collections that the outputs join.
        trainable: Whether the variables join ``TRAINABLE_VARIABLES``.
        scope: The variable scope.
    """
    layer = _Layer(dict(locals()), "fully_connected")
    with layer.inside():
        x = _convert(inputs)
        if x.shape.rank is None or x.shape.rank < 2:
            raise _ArgumentError(f"fully_connected takes inputs of at least two dimensions, got shape {x.shape}.")
        weights = layer.variable("weights", [_known(x.shape[-1], "last dimension", x.shape), num_outputs], "weights")
        outputs = _matmul(x, weights) if x.shape.rank == 2 else _tensordot(x, weights, 1)
        return layer.finish(outputs, num_outputs)


@_add_arg_scope
@_builds
def linear(inputs: ArrayLike, num_outputs: int, **kwargs: Any) -> Any:
    """`fully_connected` without an activation."""
    return fully_connected(inputs, num_outputs, **{"activation_fn": None, **kwargs})


@_add_arg_scope
@_builds
def embed_sequence(
    ids: ArrayLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    scope: str | None = None,
    reuse: bool | ReuseMode | None = None,
) -> Any:
    """Rows of a variable ``embeddings`` for numbers.

    Args:
        ids: The numbers.
        vocab_size: How many rows there are; with `reuse`, that is known.
        embed_dim: Their length.
        unique: Accepted for TensorFlow's programs: whether to look up equal numbers once.
        initializer: What they begin with.
        regularizer: A function from them to a loss.
        trainable: Whether optimizers change them.
        scope: The variable scope: ``EmbedSequence`` by default.
        reuse: Whether to find the variable, or to make it.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise _ArgumentError(
            f"Must specify vocab size and embedding dimension when not reusing. Got {vocab_size} and {embed_dim}."
        )
    with _variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        given: dict[str, Any] = {"initializer": initializer, "regularizer": regularizer, "trainable": trainable}
        weights = _get_variable("embeddings", shape, **given)
        return _embedding_lookup(weights, ids)


def _pair(value: ArrayLike, rank: int = 2) -> list[int]:
    """A size for each axis; one stands for all."""
    given = value if isinstance(value, (list, tuple)) else [value]
    numbers = [_as_int(number, "size") for number in given]
    if len(numbers) not in (1, rank):
        raise _ArgumentError(f"Expected a size, or one for each of {rank} axes, got {_shown(value)}.")
    return numbers * rank if len(numbers) == 1 else numbers


@_add_arg_scope
@_builds
def convolution(
    inputs: ArrayLike,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: ArrayLike = 1,
    activation_fn: Callable[..., Any] = _relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: InitializerLike = _XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: InitializerLike = _ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Sequence[str] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Convolves sequences, images or volumes, adds biases, and applies a function.

    Args:
        inputs: A tensor of three, four or five dimensions, channels last unless `data_format` says otherwise.
        num_outputs: The number of channels of the outputs.
        kernel_size: The size of the window.
        stride: The steps between windows.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: Such as ``"NHWC"`` or ``"NCHW"``.
        rate: The distance between the elements of a window.
        activation_fn: See `fully_connected`, as with the arguments after it.
        normalizer_fn: See there.
        normalizer_params: See there.
        weights_initializer: See there.
        weights_regularizer: See there.
        biases_initializer: See there.
        biases_regularizer: See there.
        reuse: See there.
        variables_collections: See there.
        outputs_collections: See there.
        trainable: See there.
        scope: See there.
    """
    layer = _Layer(dict(locals()), "Conv")
    with layer.inside():
        x = _convert(inputs)
        if x.shape.rank not in (3, 4, 5):
            raise _ArgumentError(f"Convolution takes inputs of 3, 4 or 5 dimensions, got shape {x.shape}.")
        rank = x.shape.rank - 2
        first = data_format is not None and data_format[1] == "C"
        channels = _known(x.shape[1 if first else -1], "number of channels", x.shape)
        weights = layer.variable("weights", [*_pair(kernel_size, rank), channels, num_outputs], "weights")
        outputs = _convolution(x, weights, _pair(stride, rank), padding, data_format, _pair(rate, rank))
        return layer.finish(outputs, num_outputs, data_format)


conv2d = convolution2d = convolution
convolution1d = conv1d = conv3d = convolution3d = convolution


@_add_arg_scope
@_builds
def conv2d_transpose(
    inputs: ArrayLike,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Callable[..., Any] = _relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: InitializerLike = _XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: InitializerLike = _ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Sequence[str] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """The way back of a convolution of images; the arguments are those of `convolution`."""
    layer = _Layer(dict(locals()), "Conv2d_transpose")
    with layer.inside():
        x = _convert(inputs)
        if data_format != "NHWC" or x.shape.rank != 4:
            raise _ArgumentError(f"conv2d_transpose takes images in NHWC, got shape {x.shape} in {data_format}.")
        (high, wide), steps = _pair(kernel_size), _pair(stride)
        channels = _known(x.shape[3], "number of channels", x.shape)
        weights = layer.variable("weights", [high, wide, num_outputs, channels], "weights")
        spare = [0, 0] if padding.upper() == "SAME" else [max(high - steps[0], 0), max(wide - steps[1], 0)]
        each = zip(x.shape[1:3], steps, spare, strict=True)
        known = [None if have is None else have * step + more for have, step, more in each]
        found = _shape_of(x)
        sizes = [found[n + 1] * steps[n] + spare[n] if known[n] is None else known[n] for n in (0, 1)]
        outputs = _conv2d_transpose(x, weights, [found[0], *sizes, num_outputs], steps, padding.upper())
        if isinstance(outputs, _SymbolicTensor):
            outputs.set_shape([x.shape[0], *known, num_outputs])
        return layer.finish(outputs, num_outputs)


convolution2d_transpose = conv2d_transpose


@_add_arg_scope
@_builds
def separable_conv2d(
    inputs: ArrayLike,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: ArrayLike = 1,
    activation_fn: Callable[..., Any] = _relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: InitializerLike = _XAVIER,
    pointwise_initializer: InitializerLike | None = None,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: InitializerLike = _ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Sequence[str] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Convolves every channel by itself, then mixes the channels; the other arguments are those of `convolution`.

    Args:
        inputs: Images.
        num_outputs: The number of channels of the outputs; None for no mixing.
        kernel_size: See `convolution`.
        depth_multiplier: How many channels are made of each.
        stride: See `convolution`.
        padding: See `convolution`.
        data_format: See `convolution`.
        rate: See `convolution`.
        activation_fn: See `convolution`.
        normalizer_fn: See `convolution`.
        normalizer_params: See `convolution`.
        weights_initializer: See `convolution`.
        pointwise_initializer: How the weights that mix begin; by default as the others.
        weights_regularizer: See `convolution`.
        biases_initializer: See `convolution`.
        biases_regularizer: See `convolution`.
        reuse: See `convolution`.
        variables_collections: See `convolution`.
        outputs_collections: See `convolution`.
        trainable: See `convolution`.
        scope: See `convolution`.
    """
    layer = _Layer(dict(locals()), "SeparableConv2d")
    with layer.inside():
        x = _convert(inputs)
        if data_format != "NHWC" or x.shape.rank != 4:
            raise _ArgumentError(f"separable_conv2d takes images in NHWC, got shape {x.shape} in {data_format}.")
        channels = _known(x.shape[3], "number of channels", x.shape)
        steps, apart = [1, *_pair(stride), 1], _pair(rate)
        each = layer.variable("depthwise_weights", [*_pair(kernel_size), channels, depth_multiplier], "weights")
        if num_outputs is None:
            outputs = _depthwise(x, each, steps, padding, dilations=apart)
            return layer.finish(outputs, channels * depth_multiplier)
        if pointwise_initializer is not None:
            layer.given["weights_initializer"] = pointwise_initializer
        mixing = layer.variable("pointwise_weights", [1, 1, channels * depth_multiplier, num_outputs], "weights")
        return layer.finish(_separable(x, each, mixing, steps, padding, dilations=apart), num_outputs)


separable_convolution2d = separable_conv2d


def _pooled(inputs: ArrayLike, kernel_size: IntsLike, kind: str, given: dict[str, Any]) -> Any:
    x = _convert(inputs)
    with _name_scope(given["scope"] or ("MaxPool2D" if kind == "MAX" else "AvgPool2D")):
        layout = given["data_format"]
        outputs = _pool(
            x, _pair(kernel_size), kind, _pair(given["stride"]), given["padding"].upper(), data_format=layout
        )
    return _collected(outputs, given["outputs_collections"])


@_add_arg_scope
@_builds
def max_pool2d(
    inputs: ArrayLike,
    kernel_size: IntsLike,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Sequence[str] | None = None,
    scope: str | None = None,
) -> Any:
    """The largest values of windows of images."""
    return _pooled(inputs, kernel_size, "MAX", dict(locals()))


@_add_arg_scope
@_builds
def avg_pool2d(
    inputs: ArrayLike,
    kernel_size: IntsLike,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Sequence[str] | None = None,
    scope: str | None = None,
) -> Any:
    """The means of windows of images."""
    return _pooled(inputs, kernel_size, "AVG", dict(locals()))


@_add_arg_scope
@_builds
def flatten(inputs: ArrayLike, outputs_collections: Sequence[str] | None = None, scope: str | None = None) -> Any:
    """Makes one dimension of all but the batch's."""
    x = _convert(inputs)
    if x.shape.rank is None or x.shape.rank < 2:
        raise _ArgumentError(f"Inputs must have a least 2 dimensions, got a tensor of shape {x.shape}.")
    size = x.shape[1:].num_elements()
    with _name_scope(scope or "Flatten"):
        if size is not None:
            return _collected(_reshape(x, [-1, size]), outputs_collections)
        return _collected(_reshape(x, [_shape_of(x)[0], -1]), outputs_collections)


@_add_arg_scope
@_builds
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: str | None = None,
    seed: int | None = None,
) -> Any:
    """While training, keeps elements with probability `keep_prob`, and divides them by it."""
    x = _convert(inputs)
    with _name_scope(scope or "Dropout"):
        outputs = _smart_cond(is_training, lambda: _dropout(x, 1 - keep_prob, noise_shape, seed), lambda: _identity(x))
    return _collected(outputs, outputs_collections)


@_add_arg_scope
@_builds
def batch_norm(
    inputs: ArrayLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: dict[str, Any] | None = None,
    param_regularizers: dict[str, Any] | None = None,
    updates_collections: Sequence[str] = _Keys.UPDATE_OPS,
    is_training: Any = True,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Sequence[str] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: str | VariableScope | None = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Normalises every channel by the moments of the batch, or by moving means of them.

    Args:
        inputs: A tensor of at least two dimensions.
        decay: How much of the moving means stays, in a step.
        center: Whether there is a ``beta``.
        scale: Whether there is a ``gamma``.
        epsilon: What is added to variances.
        activation_fn: A function; None for none.
        param_initializers: How ``beta``, ``gamma``, ``moving_mean`` and ``moving_variance`` begin.
        param_regularizers: Losses of ``beta`` and ``gamma``.
        updates_collections: Where the operations are that move the means; None to run them with the layer.
        is_training: Whether to use the moments of the batch; a Python value or a tensor.
        reuse: See `fully_connected`.
        variables_collections: Accepted for TensorFlow's programs.
        outputs_collections: See `fully_connected`.
        trainable: See `fully_connected`.
        batch_weights: Refused.
        fused: Accepted for TensorFlow's programs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        zero_debias_moving_mean: Refused.
        scope: See `fully_connected`.
        renorm: Refused.
        renorm_clipping: Accepted for TensorFlow's programs.
        renorm_decay: Accepted for TensorFlow's programs.
        adjustment: Refused.
    """
    refused = {
        "batch_weights": batch_weights is not None,
        "zero_debias_moving_mean": zero_debias_moving_mean,
        "renorm": renorm,
        "adjustment": adjustment is not None,
    }
    for name, wanted in refused.items():
        if wanted:
            raise _ArgumentError(f"batch_norm has no `{name}` here. Leave it out.")
    begin, cost = param_initializers or {}, param_regularizers or {}
    options = {f"{name}_initializer": value for name, value in begin.items() if value is not None}
    with _variable_scope(scope, "BatchNorm", reuse=reuse) as entered:
        layer = _BatchNormalization(
            axis=1 if data_format[1] == "C" else -1,
            momentum=decay,
            epsilon=epsilon,
            center=center,
            scale=scale,
            beta_regularizer=cost.get("beta"),
            gamma_regularizer=cost.get("gamma"),
            trainable=trainable,
            name=entered.name.rpartition("/")[2],
            _scope=entered,
            _reuse=reuse,
            **options,
        )
        updates = _get_default_graph().get_collection_ref(_Keys.UPDATE_OPS)
        before = list(updates)
        outputs = layer(_convert(inputs), training=is_training)
        outputs = _with_updates(outputs, updates, before, updates_collections)
        for variable in layer.variables:
            if variable not in _get_default_graph().get_collection_ref(_Keys.MODEL_VARIABLES):
                _add_to_collections([_Keys.MODEL_VARIABLES], variable)
        return _collected(outputs if activation_fn is None else activation_fn(outputs), outputs_collections)


@_add_arg_scope
@_builds
def layer_norm(
    inputs: ArrayLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[..., Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Any = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: str | VariableScope | None = None,
) -> Any:
    """Normalises every example by its own moments.

    Args:
        inputs: A tensor of at least two dimensions; those that have parameters are known.
        center: Whether there is a ``beta``.
        scale: Whether there is a ``gamma``.
        activation_fn: A function; None for none.
        reuse: See `fully_connected`.
        variables_collections: Collections that the variables join; a list, or one for ``beta`` and ``gamma`` each.
        outputs_collections: See `fully_connected`.
        trainable: See `fully_connected`.
        begin_norm_axis: The first of the dimensions that the moments are taken over, up to the last one.
        begin_params_axis: The first of the dimensions that ``beta`` and ``gamma`` have.
        scope: See `fully_connected`.
    """
    parts = {
        "beta_initializer": _Zeros(), "gamma_initializer": _Ones(),
        "beta_regularizer": None, "gamma_regularizer": None,
    }  # fmt: skip
    layer = _Layer({**locals(), **parts}, "LayerNorm")
    with layer.inside():
        x = _convert(inputs)
        rank = x.shape.rank
        if rank is None:
            raise _ArgumentError("layer_norm takes inputs of a known number of dimensions.")
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if first >= rank or begin_params_axis >= rank:
            raise _ArgumentError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({first}) must be < rank(inputs) ({rank})"
            )
        sizes = [_known(size, "dimensions with parameters", x.shape) for size in x.shape[begin_params_axis:]]
        beta = layer.variable("beta", sizes, "beta") if center else None
        gamma = layer.variable("gamma", sizes, "gamma") if scale else None
        mean, variance = _moments(x, list(range(first, rank)), keepdims=True)
        outputs = _batch_normalization(x, mean, variance, beta, gamma, 1e-3 if x.dtype == _float16 else 1e-12)
        return _collected(outputs if activation_fn is None else activation_fn(outputs), outputs_collections)


def _with_updates(outputs: Any, updates: list[Any], before: list[Any], collections: Any) -> Any:
    """Puts the operations that move the means where a program wants them."""
    if collections == _Keys.UPDATE_OPS:
        return outputs
    made = [update for update in updates if update not in before]
    updates[:] = before
    if collections is None:
        with _control_dependencies(made):
            return _identity(outputs)
    for update in made:
        _add_to_collections([collections] if isinstance(collections, str) else collections, update)
    return outputs


@_add_arg_scope
@_builds
def one_hot_encoding(
    labels: ArrayLike,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Sequence[str] | None = None,
    scope: str | None = None,
) -> Any:
    """Rows with `on_value` at the place that a label says."""
    with _name_scope(scope or "OneHotEncoding"):
        return _collected(_one_hot(labels, num_classes, on_value, off_value), outputs_collections)


_MOST_LAYERS = 10_000  # more is a mistake


def repeat(inputs: ArrayLike, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Applies a layer several times, in scopes with numbers."""
    count = _as_int(repetitions, "repetitions")
    if count > _MOST_LAYERS:
        raise _ArgumentError(f"A layer is repeated at most {_MOST_LAYERS} times, got repetitions={count}.")
    return stack(inputs, layer, [args] * count, **{"scope": _name_of(layer), **kwargs})


def _name_of(layer: Any) -> str:
    if not callable(layer) or not hasattr(layer, "__name__"):
        raise _DTypeError(f"The layer is a function, such as tf.contrib.layers.conv2d; got {_shown(layer)}.")
    return str(layer.__name__)


def stack(inputs: ArrayLike, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """Applies a layer with each of several arguments, or tuples of them, in scopes with numbers."""
    scope = kwargs.pop("scope", None)
    name = scope if isinstance(scope, str) else _name_of(layer)
    with _variable_scope(scope, "Stack"):
        for number, given in enumerate(_listed(stack_args, "arguments")):
            args = given if isinstance(given, (list, tuple)) else [given]
            inputs = layer(inputs, *args, scope=f"{name}/{name}_{number + 1}".rpartition("/")[2], **kwargs)
        return inputs


__all__ = [
    "apply_regularization",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_transpose",
    "convolution3d",
    "dropout",
    "embed_sequence",
    "flatten",
    "fully_connected",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "linear",
    "max_pool2d",
    "one_hot_encoding",
    "optimize_loss",
    "repeat",
    "safe_embedding_lookup_sparse",
    "separable_conv2d",
    "separable_convolution2d",
    "stack",
    "sum_regularizer",
    "summarize_activation",
    "summarize_tensor",
    "summarize_tensors",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]

__getattr__ = _without("tf.contrib.layers")
