"""Names from before TensorFlow 1.0: the same functions under their old names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten
from situs._src.base.typing import ArrayLike
from situs._src.ops.linalg import matmul
from situs._src.summaries import graph_summaries
from situs._src.v1.frontend import builds


@export(v1="batch_matmul")
@builds
def batch_matmul(
    x: ArrayLike, y: ArrayLike, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Tensor:
    """``tf.matmul`` of batches of matrices."""
    return matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)


@export(v1="scalar_summary")
@builds
def scalar_summary(
    tags: Any, values: ArrayLike, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """``tf.summary.scalar``."""
    return graph_summaries.scalar(_tag(tags), values, collections)


@export(v1="histogram_summary")
@builds
def histogram_summary(
    tag: object, values: ArrayLike, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """``tf.summary.histogram``."""
    return graph_summaries.histogram(_tag(tag), values, collections)


@export(v1="image_summary")
@builds
def image_summary(
    tag: object,
    tensor: ArrayLike,
    max_images: int = 3,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """``tf.summary.image``."""
    return graph_summaries.image(_tag(tag), tensor, max_images, collections)


def _tag(tags: Any) -> str:
    found = flatten(tags)
    if len(found) != 1 or not isinstance(found[0], str):
        raise ArgumentError(f"A summary has one tag here, a Python string, got {tags!r}. Make one for each tag.")
    return found[0].replace(" ", "_")
