"""``Scaffold``: the operations that a monitored session needs, given by the program or created.

    init_op                   gives the variables their first values, if no checkpoint does
    ready_for_local_init_op   the names of what has to have a value before local_init_op
    local_init_op             always run: local variables, tables
    ready_op                  the names of what has no value yet; the session is ready when there are none
    summary_op                all summaries of the graph
    saver                     saves and restores

Each is looked up in the arguments, then in its collection of the graph, and otherwise created and added to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from situs._src.base.errors import DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.typing import FeedDict
from situs._src.checkpoints.saver import Saver
from situs._src.ir.graph.context import add_to_collection, get_collection, get_default_graph
from situs._src.ops.placeholder import group
from situs._src.v1.monitored.events import merged_summaries
from situs._src.v1.monitored.tables import tables_initializer
from situs._src.variables.collections import (
    GraphKeys,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

_logger = logging.getLogger("situs")


@export(v1="train.Scaffold")
class Scaffold:
    """The operations that a monitored session needs.

    Args:
        init_op: What to run if there is no checkpoint to restore; by default all initializers.
        init_feed_dict: What to feed to it.
        init_fn: A function ``init_fn(scaffold, session)`` to be called after it.
        ready_op: A string tensor with the names of what has no value yet.
        ready_for_local_init_op: The same for what `local_init_op` needs.
        local_init_op: What to run in every session, restored or not.
        summary_op: A string tensor with all summaries.
        saver: What saves and restores.
        copy_from_scaffold: A scaffold to take what is not given from.
        local_init_feed_dict: What to feed to `local_init_op`.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: FeedDict | None = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise DTypeError(f"copy_from_scaffold is not a Scaffold instance: {shown(copy_from_scaffold)}.")
        if init_fn is not None and not callable(init_fn):
            raise DTypeError(f"init_fn is a function of a scaffold and a session, got {shown(init_fn)}.")
        as_saver(saver)
        source = copy_from_scaffold

        def chosen(given: object, attribute: str) -> Any:
            return getattr(source, attribute) if given is None and source is not None else given

        self._init_fn = chosen(init_fn, "_init_fn")
        self._init_op = chosen(init_op, "init_op")
        self._init_feed_dict = chosen(init_feed_dict, "init_feed_dict")
        self._ready_op = chosen(ready_op, "ready_op")
        self._ready_for_local_init_op = chosen(ready_for_local_init_op, "ready_for_local_init_op")
        self._local_init_op = chosen(local_init_op, "local_init_op")
        self._local_init_feed_dict = chosen(local_init_feed_dict, "local_init_feed_dict")
        self._summary_op = chosen(summary_op, "summary_op")
        self._saver = chosen(saver, "saver")

    def finalize(self) -> Scaffold:
        """Makes what is missing, in the default graph, and closes the graph for changes."""
        graph = get_default_graph()
        with graph.as_default():
            self._complete()
        graph.finalize()
        _logger.info("Graph was finalized.")
        return self

    def _complete(self) -> None:
        self._init_op = _found(self._init_op, "init_op", GraphKeys.INIT_OP, _default_init_op)
        self._ready_op = _found(self._ready_op, "ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        self._ready_for_local_init_op = _found(
            self._ready_for_local_init_op,
            "ready_for_local_init_op",
            GraphKeys.READY_FOR_LOCAL_INIT_OP,
            lambda: report_uninitialized_variables(global_variables()),
        )
        self._local_init_op = _found(
            self._local_init_op, "local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
        )
        self._summary_op = _found(self._summary_op, "summary_op", GraphKeys.SUMMARY_OP, merged_summaries)
        if self._saver is None:
            self._saver = saver_of_graph() or _default_saver()
        self._saver.build()

    # What it holds.

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """The function to be called after `init_op`, of a session only; None if there is none."""
        function = self._init_fn
        return None if function is None else lambda session: function(self, session)

    @property
    def init_op(self) -> Any:
        """What gives variables their first values."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """What is fed to `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """The names of what has no value yet."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of what `local_init_op` still waits for."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """What is run in every session."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        """What is fed to `local_init_op`."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """All summaries; None if the graph has none."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """What saves and restores."""
        return self._saver

    # What is made.

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The one item of a collection of the default graph; if it is empty, a new one, which is collected.

        Raises:
            RuntimeError: there are several items.
        """
        found = get_collection(collection_key)
        if len(found) > 1:
            raise StateError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing '
                f"it to the tf.Scaffold constructor as: tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """An operation that initializes local variables and tables of the default graph."""
        graph = get_default_graph()
        with graph.as_default():
            return group(local_variables_initializer(), tables_initializer())


def _found(given: object, name: str, key: str, make: Callable[[], Any]) -> Any:
    return Scaffold.get_or_default(name, key, make) if given is None else given


def _default_init_op() -> Any:
    return group(global_variables_initializer())


def as_scaffold(scaffold: Any) -> Scaffold | None:
    """A scaffold that a program gave, or None.

    Raises:
        DTypeError: it is neither.
    """
    if scaffold is not None and not isinstance(scaffold, Scaffold):
        raise DTypeError(f"scaffold must be a tf.train.Scaffold, got {shown(scaffold)}.")
    return scaffold


def as_saver(saver: Any) -> Any:
    """A saver that a program gave, or None.

    Raises:
        DTypeError: it is neither.
    """
    if saver is not None and not all(hasattr(saver, method) for method in ("build", "save", "restore")):
        raise DTypeError(f"saver must be a tf.train.Saver, got {shown(saver)}.")
    return saver


def saver_of_graph() -> Any:
    """The saver that the default graph has collected; None if there is none.

    Raises:
        RuntimeError: there are several.
    """
    found = get_collection(GraphKeys.SAVERS)
    if len(found) > 1:
        raise StateError(
            f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it to "
            "the constructor."
        )
    return found[0] if found else None


def _default_saver() -> Saver:
    saver = Saver(sharded=True, allow_empty=True)
    add_to_collection(GraphKeys.SAVERS, saver)
    return saver
