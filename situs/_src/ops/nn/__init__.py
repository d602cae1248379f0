"""Neural-network ops: activations, losses, convolution, pooling, normalisation, embeddings."""

from situs._src.ops.nn import (  # noqa: F401
    activation,
    attention,
    bias,
    candidates,
    conv,
    conv_gradient,
    conv_transpose,
    depthwise,
    dropout,
    embedding,
    gated_recurrent,
    isotonic,
    loss,
    moments,
    normalize,
    pool,
    pool_gradient,
    recurrent,
)
