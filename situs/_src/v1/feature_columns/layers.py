"""Columns as the first layer of a network, in the style of TensorFlow 1: variables belong to the variable scope.

input_layer(features, columns)     the values of all columns, concatenated in the order of their names
linear_model(features, columns)    their weighted sum, with a bias
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.array import reshape
from situs._src.ops.attribute import as_int
from situs._src.ops.cumulative import add_n
from situs._src.ops.join import concat
from situs._src.ops.linalg import matmul
from situs._src.sparse.lookups import safe_embedding_lookup_sparse
from situs._src.v1.feature_columns.columns import CategoricalColumn, Column, DenseColumn, Features
from situs._src.variables.initializers import Zeros
from situs._src.variables.scope import get_variable, variable_scope


def _sorted(columns: Any, kinds: tuple[type, ...], who: str) -> list[Any]:
    """Columns by their names.

    Raises:
        ValueError: there are none, one is of another kind, or two have one name.
    """
    listed = [columns] if isinstance(columns, Column) else []
    if isinstance(columns, (Sequence, Set)) and not isinstance(columns, (str, bytes)):
        listed = list(columns)
    if not listed:
        raise ArgumentError(f"feature_columns must not be empty: {who} takes columns, got {shown(columns)}.")
    for column in listed:
        if not isinstance(column, kinds):
            raise ArgumentError(
                f"Items of feature_columns of {who} must be dense. Given (type {type(column).__name__}): "
                f"{shown(column)}. Wrap a categorical column in an embedding_column or indicator_column."
            )
    names = [column.name for column in listed]
    if len(set(names)) != len(names):
        raise ArgumentError(f"Duplicate feature column name found for columns: {sorted(names)}.")
    return sorted(listed, key=lambda column: str(column.name))


@export(v1="feature_column.input_layer")
def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """The numbers of dense columns side by side: a row for each record.

    Args:
        features: Tensors by name, dense or sparse.
        feature_columns: Dense columns; they stand in the order of their names.
        weight_collections: Collections that the variables of embeddings are added to.
        trainable: Whether the variables are trained.
        cols_to_vars: Takes the variables of each column.
        cols_to_output_tensors: Takes the numbers of each column.
    """
    ordered = _sorted(feature_columns, (DenseColumn,), "input_layer")
    given = Features(features)
    parts = []
    with variable_scope(None, default_name="input_layer"):
        for column in ordered:
            made: list[Any] = []

            def weights(shape: tuple[int, ...], initializer: Any, trained: bool, made: list[Any] = made) -> Any:
                made.append(
                    get_variable(
                        "embedding_weights",
                        shape,
                        initializer=initializer,
                        trainable=trainable and trained,
                        collections=weight_collections,
                    )
                )
                return made[0]

            with variable_scope(None, default_name=column.name):
                found = column.dense(given, weights)
                parts.append(reshape(found, [-1, math.prod(column.variable_shape)]))
            if cols_to_vars is not None:
                cols_to_vars[column] = made
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = parts[-1]
        return concat(parts, 1)


@export(v1="feature_column.linear_model")
def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """The weighted sum of columns, with a bias: numbers by a matrix of weights, categories by a row for each id.

    Args:
        features: Tensors by name, dense or sparse.
        feature_columns: Columns, dense or categorical.
        units: How many sums there are.
        sparse_combiner: How several categories of a record are put together: ``"sum"``, ``"mean"`` or ``"sqrtn"``.
        weight_collections: Collections that the weights are added to.
        trainable: Whether the weights are trained.
        cols_to_vars: Takes the weights of each column, and under ``"bias"`` those of the bias.
    """
    ordered = _sorted(feature_columns, (DenseColumn, CategoricalColumn), "linear_model")
    count = as_int(units, "units")
    given = Features(features)
    sums = []

    def weights(name: str, shape: tuple[int, ...]) -> Any:
        return get_variable(name, shape, initializer=Zeros(), trainable=trainable, collections=weight_collections)

    def none(shape: tuple[int, ...], initializer: Any, trained: bool) -> Any:
        raise ArgumentError("linear_model takes no embedding_column: its rows would be weighed twice.")

    with variable_scope(None, default_name="linear_model"):
        for column in ordered:
            with variable_scope(None, default_name=column.name):
                if isinstance(column, CategoricalColumn):
                    ids, importance = column.ids_and_weights(given)
                    table = weights("weights", (column.num_buckets, count))
                    sums.append(safe_embedding_lookup_sparse(table, ids, importance, sparse_combiner))
                else:
                    size = math.prod(column.variable_shape)
                    table = weights("weights", (size, count))
                    sums.append(matmul(reshape(column.dense(given, none), [-1, size]), table))
                if cols_to_vars is not None:
                    cols_to_vars[column] = [table]
        bias = weights("bias_weights", (count,))
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        made: Tensor = add_n(sums) + bias
        return made
