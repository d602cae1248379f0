"""``Trackable``, ``AutoTrackable``: objects that declare by name what is saved, as in TensorFlow.

    class Layer(AutoTrackable):
        def __init__(self):
            self.kernel = tf.Variable(...)        tracked: saved as "kernel"
            self.blocks = [Layer(), Layer()]      "blocks/0", "blocks/1"
            self.rate = 0.5                       not tracked

``tf.train.Checkpoint`` calls ``_trackable_children()``, which a class may override. Attributes that are set later are
restored when they are tracked. Lists and dictionaries are not wrapped: a checkpoint inspects them when it is written.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.checkpoints.cells import is_variable
from situs._src.checkpoints.restoration import arrived, is_waiting
from situs._src.checkpoints.trackable import Trackable as _Tracked
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function, Method

_CHILDREN = "_self_unconditional_dependency_names"  # TensorFlow's name, which Keras leaves out of its files
_TRACKS = "_self_setattr_tracking"
_OF_SEQUENTIAL = "_layers"  # Keras' own list: its numbers shift when the model is built. `_functional` has the layers
SAVED_MODEL = "savedmodel"  # TensorFlow's name for what `tf.saved_model.save` asks for
_FUNCTIONS = (Function, Method, ConcreteFunction)
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Trackable:
    """An object with children that are saved: those that it was told to track."""

    def _track_trackable(self, trackable: object, name: str, overwrite: bool = False) -> Any:
        """Makes an object a child, which is saved, and restored if a checkpoint has it already.

        Args:
            trackable: The child.
            name: The name that it is saved under.
            overwrite: Whether it may take the place of another child.

        Raises:
            TypeError: it cannot lead to variables.
            ValueError: there is another child of this name.
        """
        if not _can_be_tracked(trackable):
            raise DTypeError(
                f"Trackable._track_trackable() can only be used to track trackable objects, got {trackable!r}."
            )
        children = self.__dict__.setdefault(_CHILDREN, {})
        if not overwrite and children.get(name, trackable) is not trackable:
            raise ArgumentError(
                f"Called Trackable._track_trackable() with name={shown(name)}, but a Trackable with this name is "
                f"already declared as a dependency of {self!r}."
            )
        children[name] = trackable
        if is_waiting(self):
            arrived(self, name, trackable)
        return trackable

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """What is saved of this object, by name; for the save type ``savedmodel``, lists stay as they are."""
        children = self.__dict__.get(_CHILDREN, {})
        return {name: child if save_type == SAVED_MODEL else _tracked_in(child) for name, child in children.items()}

    def _lookup_dependency(self, name: str, cached_dependencies: Mapping[str, Any] | None = None) -> Any:
        """The child of a name; None if there is none."""
        return (self._trackable_children() if cached_dependencies is None else cached_dependencies).get(name)

    def _no_dependency(self, value: object) -> Any:
        """A value to be set as an attribute and not to be tracked."""
        return value


class NoDependency:
    """Around a value that an `AutoTrackable` gets as an attribute and does not track."""

    def __init__(self, value: Any) -> None:
        self.value = value


class AutoTrackable(Trackable):
    """An object whose attributes are tracked: variables, objects that track some, lists and dictionaries of them."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, NoDependency):
            self._untrack(name)
            value = value.value
        elif getattr(self, _TRACKS, True) and not name.startswith("_self_"):
            if _can_be_tracked(value) and not (name == _OF_SEQUENTIAL and type(value) is not list):
                self._track_trackable(value, name, overwrite=True)
            else:
                self._untrack(name)
        super().__setattr__(name, value)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """What is saved of this object, by name; with the save type ``savedmodel``, its functions as well."""
        found = super()._trackable_children(save_type, **kwargs)
        return found | functions_of(self) if save_type == SAVED_MODEL else found

    def __delattr__(self, name: str) -> None:
        self._untrack(name)
        super().__delattr__(name)

    def _untrack(self, name: str) -> None:
        children = self.__dict__.get(_CHILDREN)
        if children:
            children.pop(name, None)

    def _no_dependency(self, value: object) -> NoDependency:
        """A value to be set as an attribute and not to be tracked."""
        return NoDependency(value)


def functions_of(value: Any) -> dict[str, Any]:
    """The functions that an object has as methods and attributes, by name."""
    names = {name for cls in type(value).__mro__ for name, item in vars(cls).items() if isinstance(item, _FUNCTIONS)}
    found = {name: getattr(value, name) for name in sorted(names)}
    own = getattr(value, "__dict__", {})
    return found | {name: item for name, item in own.items() if isinstance(item, _FUNCTIONS)}


def is_tracked(value: Any) -> bool:
    """Whether something is a variable, says what is saved of it, or is a list or dictionary."""
    return is_variable(value) or isinstance(value, (Trackable, _Tracked, list, tuple, Mapping))


def _can_be_tracked(value: object) -> bool:
    if isinstance(value, defaultdict):
        return False  # as in TensorFlow: Keras has tables by numbers in such
    return is_tracked(value)


def _tracked_in(child: object) -> Any:
    """What is saved of a list or dictionary, by number or key: nothing but what can be tracked itself."""
    if isinstance(child, Trackable) or not isinstance(child, (list, tuple, Mapping)):
        return child
    pairs = list(child.items()) if isinstance(child, Mapping) else [(str(n), item) for n, item in enumerate(child)]
    return DictWrapper({key: _tracked_in(item) for key, item in pairs if _can_be_tracked(item)})


def no_automatic_dependency_tracking(method: Decorated) -> Decorated:
    """Decorates a method of an `AutoTrackable`: the attributes that it sets are not tracked."""

    @functools.wraps(method)
    def untracked(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = getattr(self, _TRACKS, True)
        setattr(self, _TRACKS, False)
        try:
            return method(self, *args, **kwargs)
        finally:
            setattr(self, _TRACKS, before)

    return untracked  # type: ignore[return-value]


class ListWrapper(Trackable, list):  # type: ignore[type-arg]
    """A list that is tracked; Situs tracks any list, so there is nothing that makes one of these by itself."""

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """The items, by number."""
        return {str(number): item for number, item in enumerate(self)}


class DictWrapper(Trackable, dict):  # type: ignore[type-arg]
    """A dictionary that is tracked; Situs tracks any, so there is nothing that makes one of these by itself."""

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """The values, by key."""
        return dict(self)


DictWrapper.__name__ = DictWrapper.__qualname__ = "_DictWrapper"  # as error messages of TensorFlow and Keras have it
_DictWrapper = DictWrapper  # its name, by which copies of it are made
