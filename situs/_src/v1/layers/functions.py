"""``tf.compat.v1.layers``: layers as functions, which create their variables in the current variable scope.

hidden = tf.layers.dense(x, 128, tf.nn.relu, name="hidden")         hidden/kernel, hidden/bias
updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)                 the updates of batch_normalization
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import AnyTensor, ArrayLike, InitializerLike, IntsLike, ShapeLike
from situs._src.v1.layers.base import Layer
from situs._src.v1.layers.convolution import Conv1D, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, SeparableConv2D
from situs._src.v1.layers.core import Dense, Dropout, Flatten
from situs._src.v1.layers.normalization import BatchNormalization
from situs._src.v1.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)
from situs._src.variables.initializers import Ones as _Ones
from situs._src.variables.initializers import Zeros as _Zeros


@export(v1="layers.dense", as_is=True)
def dense(
    inputs: ArrayLike,
    units: int,
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = _Zeros(),  # noqa: B008 - it has no state
    kernel_regularizer: Callable[[Any], Any] | None = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
    activity_regularizer: Callable[[Any], Any] | None = None,
    kernel_constraint: Callable[[Any], Any] | None = None,
    bias_constraint: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """Multiplies the last dimension with a matrix, adds a bias, and applies a function.

    Args:
        inputs: A tensor of at least two dimensions.
        units: The size of the last dimension of the outputs.
        activation: A function; None for none.
        use_bias: Whether a bias is added.
        kernel_initializer: How the matrix begins; by default as the variable scope says.
        bias_initializer: How the bias begins.
        kernel_regularizer: A loss of the matrix, which joins ``REGULARIZATION_LOSSES``.
        bias_regularizer: A loss of the bias, likewise.
        activity_regularizer: A loss of the outputs.
        kernel_constraint: What optimizers apply to the matrix.
        bias_constraint: What optimizers apply to the bias.
        trainable: Whether the variables join ``TRAINABLE_VARIABLES``.
        name: The name of the layer and of its variable scope.
        reuse: Whether to find the variables of a layer of this name.
    """
    return _apply(Dense, dict(locals()))


def _apply(kind: type[Layer], given: dict[str, Any], **call: Any) -> Tensor:
    """Makes a layer of the arguments of a function, and calls it."""
    inputs, name, reuse = given.pop("inputs"), given.pop("name"), given.pop("reuse", None)
    outputs: Tensor = kind(name=name, _scope=name, _reuse=reuse, **given)(inputs, **call)
    return outputs


@export(v1="layers.conv1d", as_is=True)
def conv1d(
    inputs: ArrayLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = 1,
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    kernel_regularizer: Callable[[Any], Any] | None = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
    activity_regularizer: Callable[[Any], Any] | None = None,
    kernel_constraint: Callable[[Any], Any] | None = None,
    bias_constraint: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """Convolves sequences; the arguments are those of `conv2d`."""
    return _apply(Conv1D, dict(locals()))


@export(v1="layers.conv2d", as_is=True)
def conv2d(
    inputs: ArrayLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = (1, 1),
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    kernel_regularizer: Callable[[Any], Any] | None = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
    activity_regularizer: Callable[[Any], Any] | None = None,
    kernel_constraint: Callable[[Any], Any] | None = None,
    bias_constraint: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """Convolves images.

    Args:
        inputs: Images: batch x height x width x channels, or as `data_format` says.
        filters: The number of channels of the outputs.
        kernel_size: The size of the window.
        strides: The steps between windows.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: The distance between the elements of a window.
        activation: See `dense`, as with the arguments after it.
        use_bias: See `dense`.
        kernel_initializer: See `dense`.
        bias_initializer: See `dense`.
        kernel_regularizer: See `dense`.
        bias_regularizer: See `dense`.
        activity_regularizer: See `dense`.
        kernel_constraint: See `dense`.
        bias_constraint: See `dense`.
        trainable: See `dense`.
        name: See `dense`.
        reuse: See `dense`.
    """
    return _apply(Conv2D, dict(locals()))


@export(v1="layers.conv3d", as_is=True)
def conv3d(
    inputs: ArrayLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = (1, 1, 1),
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    kernel_regularizer: Callable[[Any], Any] | None = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
    activity_regularizer: Callable[[Any], Any] | None = None,
    kernel_constraint: Callable[[Any], Any] | None = None,
    bias_constraint: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """Convolves volumes; the arguments are those of `conv2d`."""
    return _apply(Conv3D, dict(locals()))


@export(v1="layers.conv2d_transpose", as_is=True)
def conv2d_transpose(
    inputs: ArrayLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    kernel_regularizer: Callable[[Any], Any] | None = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
    activity_regularizer: Callable[[Any], Any] | None = None,
    kernel_constraint: Callable[[Any], Any] | None = None,
    bias_constraint: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """The way back of a convolution of images; the arguments are those of `conv2d`."""
    return _apply(Conv2DTranspose, dict(locals()))


@export(v1="layers.conv3d_transpose", as_is=True)
def conv3d_transpose(
    inputs: ArrayLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    kernel_regularizer: Callable[[Any], Any] | None = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
    activity_regularizer: Callable[[Any], Any] | None = None,
    kernel_constraint: Callable[[Any], Any] | None = None,
    bias_constraint: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """The way back of a convolution of volumes; the arguments are those of `conv2d`."""
    return _apply(Conv3DTranspose, dict(locals()))


@export(v1="layers.separable_conv2d", as_is=True)
def separable_conv2d(
    inputs: ArrayLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = (1, 1),
    depth_multiplier: int = 1,
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    depthwise_initializer: InitializerLike | None = None,
    pointwise_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    depthwise_regularizer: Callable[[Any], Any] | None = None,
    pointwise_regularizer: Callable[[Any], Any] | None = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
    activity_regularizer: Callable[[Any], Any] | None = None,
    depthwise_constraint: Callable[[Any], Any] | None = None,
    pointwise_constraint: Callable[[Any], Any] | None = None,
    bias_constraint: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """Convolves every channel of images by itself, then mixes them; the arguments are like those of `conv2d`."""
    return _apply(SeparableConv2D, dict(locals()))


# Without variables.


@export(v1="layers.max_pooling1d", as_is=True)
def max_pooling1d(
    inputs: ArrayLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The largest values of windows of sequences."""
    return _apply(MaxPooling1D, dict(locals()))


@export(v1="layers.max_pooling2d", as_is=True)
def max_pooling2d(
    inputs: ArrayLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The largest values of windows of images."""
    return _apply(MaxPooling2D, dict(locals()))


@export(v1="layers.max_pooling3d", as_is=True)
def max_pooling3d(
    inputs: ArrayLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The largest values of windows of volumes."""
    return _apply(MaxPooling3D, dict(locals()))


@export(v1="layers.average_pooling1d", as_is=True)
def average_pooling1d(
    inputs: ArrayLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The means of windows of sequences."""
    return _apply(AveragePooling1D, dict(locals()))


@export(v1="layers.average_pooling2d", as_is=True)
def average_pooling2d(
    inputs: ArrayLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The means of windows of images."""
    return _apply(AveragePooling2D, dict(locals()))


@export(v1="layers.average_pooling3d", as_is=True)
def average_pooling3d(
    inputs: ArrayLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The means of windows of volumes."""
    return _apply(AveragePooling3D, dict(locals()))


@export(v1="layers.flatten", as_is=True)
def flatten(inputs: ArrayLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """Makes one dimension of all but the batch's."""
    return _apply(Flatten, dict(locals()))


@export(v1="layers.dropout", as_is=True)
def dropout(
    inputs: ArrayLike,
    rate: ArrayLike = 0.5,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    training: bool | AnyTensor = False,
    name: str | None = None,
) -> Tensor:
    """Sets elements to zero with probability `rate`, and divides the others by ``1 - rate``, if it is training.

    Args:
        inputs: A tensor.
        rate: The probability.
        noise_shape: The shape of the random choices, which broadcasts to that of the inputs.
        seed: A seed for the choices.
        training: Whether it is training: a Python value or a tensor.
        name: A name.
    """
    given = {"inputs": inputs, "rate": rate, "noise_shape": noise_shape, "seed": seed, "name": name}
    return _apply(Dropout, given, training=training)


@export(v1="layers.batch_normalization", as_is=True)
def batch_normalization(
    inputs: ArrayLike,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    gamma_initializer: InitializerLike | None = _Ones(),  # noqa: B008
    moving_mean_initializer: InitializerLike | None = _Zeros(),  # noqa: B008
    moving_variance_initializer: InitializerLike | None = _Ones(),  # noqa: B008
    beta_regularizer: Callable[[Any], Any] | None = None,
    gamma_regularizer: Callable[[Any], Any] | None = None,
    beta_constraint: Callable[[Any], Any] | None = None,
    gamma_constraint: Callable[[Any], Any] | None = None,
    training: bool | AnyTensor = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Tensor:
    """Normalises every channel by the moments of the batch while training, and by moving means of them otherwise.

    The operations that move them join ``UPDATE_OPS``: run them with the training step.

    Args:
        inputs: A floating-point tensor.
        axis: The axis of the channels.
        momentum: How much of the moving moments stays at each update.
        epsilon: A small number that keeps the division safe.
        center: Whether `beta` is added.
        scale: Whether there is a factor `gamma`.
        beta_initializer: How `beta` begins.
        gamma_initializer: How `gamma` begins.
        moving_mean_initializer: How the moving mean begins.
        moving_variance_initializer: How the moving variance begins.
        beta_regularizer: A loss of `beta`.
        gamma_regularizer: A loss of `gamma`.
        beta_constraint: What optimizers apply to `beta`.
        gamma_constraint: What optimizers apply to `gamma`.
        training: Whether it is training: a Python value or a tensor.
        trainable: Whether `beta` and `gamma` join ``TRAINABLE_VARIABLES``.
        name: The name of the layer and of its variable scope.
        reuse: Whether to find the variables of a layer of this name.
        renorm: Refused.
        renorm_clipping: Of no use without `renorm`.
        renorm_momentum: Of no use without `renorm`.
        fused: False to keep the variance that divides by n, True to refuse inputs that are no images.
        virtual_batch_size: Refused.
        adjustment: Refused.
    """
    given = dict(locals())
    return _apply(BatchNormalization, given, training=given.pop("training"))
