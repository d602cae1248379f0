"""The base of the datasets of both API versions: a node, and a way to make a dataset from another node.

`data.dataset` combines the families of methods:

    class Dataset(Sources, Mapping, Batching, ...)         each family is next to its nodes
"""

from __future__ import annotations

from typing import Any, Self

from situs._src.base.errors import DTypeError, shown
from situs._src.data.element import Spec, joined
from situs._src.data.function import ElementFunction
from situs._src.data.node import Node


class DatasetV2:
    """A dataset as programs see it. Keras knows datasets by the name of this class and of its module."""

    __module__ = "tensorflow.python.data.ops.dataset_ops"
    _node: Node

    @classmethod
    def _of(cls, node: Node) -> Self:
        """A dataset of this family for a node; subclasses that are one special source give their common class."""
        made = object.__new__(cls._family())
        made._node = node
        return made  # type: ignore[return-value]

    @classmethod
    def _family(cls) -> type[DatasetV2]:
        return cls

    def __copy__(self) -> Self:
        return self

    def __reduce__(self) -> Any:
        raise DTypeError(
            f"cannot pickle or copy a {type(self).__name__}: it holds functions and state of this process. Make it "
            "again where it is needed; the dataset itself may be given to several consumers."
        )

    @property
    def element_spec(self) -> Any:
        """The kinds of the tensors in the elements, in the structure that these have."""
        return self._node.spec.structure

    def _function(self, function: Any, what: str, state: Spec | None = None) -> ElementFunction:
        """A function of the program's, traced for the elements of this dataset, or for a state and an element."""
        node = self._node
        homes = [node.where] * len(node.spec.leaves)
        if state is None:
            return ElementFunction(function, node.spec, what, self._of, homes)
        spec = joined([state, node.spec])
        return ElementFunction(function, spec, what, self._of, [*[None] * len(state.leaves), *homes])

    def __repr__(self) -> str:
        return f"<_{self._node.title}Dataset element_spec={self.element_spec!r}>"


def node_of(dataset: Any, what: str) -> Node:
    """The node of a dataset.

    Raises:
        DTypeError: it is not one.
    """
    if not isinstance(dataset, DatasetV2):
        raise DTypeError(f"{what} takes a tf.data.Dataset, got {shown(dataset)} of type {type(dataset).__name__!r}.")
    return dataset._node
