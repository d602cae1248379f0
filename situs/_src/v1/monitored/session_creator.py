"""How monitored sessions are created: by the chief, which restores or initializes, or by a worker, which waits for it.

Situs runs on one machine, where every session has its own variables: the program is the chief, unless its model needs
no initialization.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import UnimplementedError
from situs._src.base.export import export
from situs._src.base.proto.config import ConfigProto
from situs._src.base.typing import PathLike
from situs._src.ir.graph.context import get_default_graph
from situs._src.ops.attribute import as_float
from situs._src.runtime.session.session import Session
from situs._src.v1.monitored.scaffold import Scaffold, as_scaffold
from situs._src.v1.monitored.session_manager import SessionManager, as_master


@export(v1="train.SessionCreator")
class SessionCreator:
    """Makes sessions; to be subclassed."""

    def create_session(self) -> Any:
        """A session that is ready."""
        raise UnimplementedError(f"create_session is not implemented for {type(self).__name__}.")


class _ScaffoldedCreator(SessionCreator):
    """What both creators do: complete the graph, and leave the rest to a session manager."""

    def __init__(self, scaffold: Scaffold | None, master: str, config: ConfigProto | None) -> None:
        self._scaffold = as_scaffold(scaffold) or Scaffold()
        self._master = as_master(master)
        self._config = config
        self._session_manager: SessionManager | None = None

    def _manager(self) -> SessionManager:
        """The session manager, made when the scaffold is complete."""
        self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
                local_init_feed_dict=self._scaffold.local_init_feed_dict,
            )
        return self._session_manager


@export(v1="train.ChiefSessionCreator")
class ChiefSessionCreator(_ScaffoldedCreator):
    """Makes sessions that are restored from a checkpoint if there is one, and else initialized.

    Args:
        scaffold: The operations for that; a new one if it is not given.
        master: Empty: the devices of this process.
        config: A ``ConfigProto``.
        checkpoint_dir: The folder whose latest checkpoint to restore.
        checkpoint_filename_with_path: The checkpoint to restore, instead.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: PathLike | None = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        """A session that is ready."""
        return self._manager().prepare_session(
            self._master,
            init_op=self._scaffold.init_op,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@export(v1="train.WorkerSessionCreator")
class WorkerSessionCreator(_ScaffoldedCreator):
    """Makes sessions of a model that somebody else initializes.

    Args:
        scaffold: The operations that tell when it is ready.
        master: Empty: the devices of this process.
        config: A ``ConfigProto``.
        max_wait_secs: How long to wait.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = as_float(max_wait_secs, "max_wait_secs")

    def create_session(self) -> Session:
        """A session that is ready.

        Raises:
            DeadlineExceededError: it was not in time.
        """
        return self._manager().wait_for_session(self._master, self._config, self._max_wait_secs)
