"""``Embedding``: a row of a table for every number."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras import constraints, initializers, regularizers
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, positive
from situs._src.ops.cast import cast
from situs._src.ops.nn.embedding import embedding_lookup


@export("keras.layers.Embedding")
class Embedding(Layer):
    """Turns numbers into vectors: the rows of a table that is learned.

    Args:
        input_dim: How many rows there are; the numbers are below it.
        output_dim: The size of a row.
        embeddings_initializer: How the table begins.
        embeddings_regularizer: A loss of the table.
        embeddings_constraint: What optimizers apply to the table.
        mask_zero: Refused: masks do not travel between layers here.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("input_length", None)
        super().__init__(**kwargs)
        self.input_dim, self.output_dim = positive(input_dim, "input_dim"), positive(output_dim, "output_dim")
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = mask_zero
        self.embeddings: Any = None
        if mask_zero:
            raise UnimplementedError(
                "Embedding(mask_zero=True) makes a mask that travels with its outputs, which Situs does not do. "
                "Compute the mask with tf.not_equal(ids, 0), and pass it to the layers and losses that need it."
            )

    def build(self, input_shape: Any = None) -> None:
        """Makes the table."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )

    def call(self, inputs: Any) -> Tensor:
        """The rows of the inputs."""
        check_input(self, inputs)
        ids = inputs if inputs.dtype in (dt.int32, dt.int64) else cast(inputs, dt.int32)
        found = embedding_lookup(self.embeddings, ids)
        return cast(found, self.dtype_policy.compute)
