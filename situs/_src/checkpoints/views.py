"""``tf.train.TrackableView``: the objects reachable from one, as checkpoints and saved models find them."""

from __future__ import annotations

import inspect
from typing import Any

from situs._src.base.export import export
from situs._src.checkpoints.objects import children
from situs._src.checkpoints.tracking import is_tracked


@export("train.TrackableView", v1=())
class TrackableView:
    """The objects that an object leads to by its attributes.

    Args:
        root: The object.

    Example:
        >>> import situs as tf
        >>> module = tf.Module()
        >>> module.v = tf.Variable(1.0)
        >>> list(TrackableView.children(module)), len(TrackableView(module).descendants())
        (['v'], 2)
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    @property
    def root(self) -> Any:
        """The object."""
        return self._root

    @classmethod
    def children(cls, obj: Any, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """What an object leads to directly, by name.

        Args:
            obj: The object.
            save_type: ``checkpoint`` or ``savedmodel``, which may differ in what is saved.
            **kwargs: What the object is asked with besides.
        """
        own = inspect.getattr_static(type(obj), "_trackable_children", None)
        if own is None or hasattr(type(obj), "_checkpoint_children"):
            return {name: child for name, child in children(obj).items() if is_tracked(child)}
        return dict(obj._trackable_children(save_type, **kwargs))

    def descendants(self) -> list[Any]:
        """The object and all that it leads to, the nearest first, each once."""
        found, seen = [self._root], {id(self._root)}
        for value in found:  # which grows meanwhile
            for child in self.children(value).values():
                if id(child) not in seen:
                    seen.add(id(child))
                    found.append(child)
        return found
