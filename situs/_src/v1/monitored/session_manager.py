"""``SessionManager``: sessions whose variables are initialized when a program gets them.

    prepare_session     restore the latest checkpoint, or initialize; then the local initializers; then check
    recover_session     restore the latest checkpoint; do not initialize what it does not hold
    wait_for_session    wait until somebody else has initialized

A session is ready when its `ready_op` returns no names.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from situs._src.base.errors import (
    ArgumentError,
    DeadlineExceededError,
    DTypeError,
    FailedPreconditionError,
    StateError,
    UnimplementedError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.proto.config import ConfigProto
from situs._src.base.typing import FeedDict, PathLike
from situs._src.checkpoints.finding import latest_checkpoint
from situs._src.checkpoints.state import get_checkpoint_state
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ops.attribute import as_float
from situs._src.runtime.session.session import Session

_logger = logging.getLogger("situs")

Readiness = tuple[bool, str | None]  # whether, and if not, why


@export(v1="train.SessionManager")
class SessionManager:
    """Makes sessions whose variables have values.

    Args:
        local_init_op: What to run in every session, restored or not.
        ready_op: A string tensor with the names of what has no value yet; None if nobody needs to look.
        ready_for_local_init_op: The same for what `local_init_op` needs.
        graph: The graph; the default one if it is not given.
        recovery_wait_secs: Seconds between two looks at whether a model is ready, or a checkpoint there.
        local_init_run_options: Options for the run of `local_init_op`.
        local_init_feed_dict: What to feed to it.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: FeedDict | None = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ArgumentError("If you pass a ready_for_local_init_op you must also pass a local_init_op.")
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = as_float(recovery_wait_secs, "recovery_wait_secs")
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    # Ready sessions.

    def prepare_session(
        self,
        master: str = "",
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: PathLike | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
        init_feed_dict: FeedDict | None = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """A session that is ready: restored if there is a checkpoint, else initialized.

        Args:
            master: Empty: the devices of this process.
            init_op: What to run if nothing was restored.
            saver: What restores.
            checkpoint_dir: The folder whose latest checkpoint to restore.
            checkpoint_filename_with_path: The checkpoint to restore, instead.
            wait_for_checkpoint: Whether to wait until there is one in the folder.
            max_wait_secs: How long.
            config: A ``ConfigProto``.
            init_feed_dict: What to feed to `init_op`.
            init_fn: A function of the session, called after `init_op`.

        Raises:
            RuntimeError: there is nothing to initialize with, or the model is not ready after it.
        """
        if init_fn is not None and not callable(init_fn):
            raise DTypeError(f"init_fn is a function of a session, got {shown(init_fn)}.")
        session, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        try:
            if not restored:
                self._initialize(session, init_op, init_feed_dict, init_fn)
            self._check_ready(session, init_op, init_fn)
        except BaseException:
            session.close()
            raise
        return session

    def _initialize(self, session: Session, init_op: Any, feed_dict: Any, init_fn: Any) -> None:
        if init_op is None and init_fn is None and self._local_init_op is None:
            raise StateError("Model is not initialized and no init_op or init_fn or local_init_op was given")
        if init_op is not None:
            session.run(init_op, feed_dict)
        if init_fn is not None:
            init_fn(session)

    def _check_ready(self, session: Session, init_op: Any, init_fn: Any) -> None:
        ready, why = self._run_local_init_op(session)
        what = f"Init op: {_named(init_op)}, init fn: {init_fn}"
        if not ready:
            raise StateError(f"Init operations did not make model ready for local_init.  {what}, error: {why}")
        ready, why = _is_ready(session, self._ready_op)
        if not ready:
            raise StateError(
                f"Init operations did not make model ready.  {what}, local_init_op: {_named(self._local_init_op)}, "
                f"error: {why}"
            )

    def recover_session(
        self,
        master: str = "",
        saver: Any = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: PathLike | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
    ) -> tuple[Session, bool]:
        """A session restored from a checkpoint, and whether it is ready: not if there was none.

        The arguments are those of `prepare_session`.
        """
        session, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        ready, why_not_local, why = self._make_ready(session)
        if restored and not ready:
            place = checkpoint_dir or checkpoint_filename_with_path
            _logger.info("Restoring model from %s did not make model ready: %s", place, why_not_local or why)
        elif restored:
            _logger.info("Restored model from %s", checkpoint_dir or checkpoint_filename_with_path)
        return session, restored and ready

    def wait_for_session(
        self, master: str = "", config: ConfigProto | None = None, max_wait_secs: float | None = None
    ) -> Session:
        """A session of a model that somebody else initializes.

        Args:
            master: Empty: the devices of this process.
            config: A ``ConfigProto``.
            max_wait_secs: How long to wait; for ever if it is not given.

        Raises:
            DeadlineExceededError: it was not ready in time.
        """
        limit = float("inf") if max_wait_secs is None else as_float(max_wait_secs, "max_wait_secs")
        end = time.monotonic() + limit
        while True:
            session = self._session(master, config)
            ready, why_not_local, why = self._make_ready(session)
            if ready:
                return session
            session.close()
            if end - time.monotonic() < self._recovery_wait_secs:
                raise DeadlineExceededError(f"Session was not ready after waiting {limit:g} secs.")
            _logger.info("Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s", why_not_local, why)
            time.sleep(self._recovery_wait_secs)

    # Restoring.

    def _session(self, master: str, config: ConfigProto | None) -> Session:
        return Session(as_master(master), self._graph, config)

    def _restored(
        self, master: str, saver: Any, folder: Any, prefix: Any, waits: bool, most: float, config: ConfigProto | None
    ) -> tuple[Session, bool]:
        """A new session, and whether a checkpoint was restored into it."""
        if folder and prefix:
            raise ArgumentError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        session = self._session(master, config)
        try:
            found = _restore(session, saver, folder, prefix, self._wait_for(folder, most) if waits else None)
        except BaseException:
            session.close()
            raise
        return session, found

    def _wait_for(self, folder: PathLike, most: float) -> Callable[[], None]:
        """Waits for a checkpoint in a folder, if one is looked for there."""

        def wait() -> None:
            end = time.monotonic() + as_float(most, "max_wait_secs")
            while get_checkpoint_state(folder) is None and time.monotonic() < end:
                _logger.info("Waiting for checkpoint to be available.")
                time.sleep(self._recovery_wait_secs)

        return wait

    # Being ready.

    def _make_ready(self, session: Session) -> tuple[bool, str | None, str | None]:
        """Whether a model is ready after its local initializers; why they cannot run, or why it is not.

        A failure closes the session.
        """
        try:
            local, why_not_local = self._run_local_init_op(session)
            ready, why = _is_ready(session, self._ready_op) if local else (False, None)
            return ready, why_not_local, why
        except BaseException:
            session.close()
            raise

    def _run_local_init_op(self, session: Session) -> Readiness:
        if self._local_init_op is None:
            return True, None
        ready, why = _is_ready(session, self._ready_for_local_init_op)
        if not ready:
            return False, why
        _logger.info("Running local_init_op.")
        session.run(self._local_init_op, self._local_init_feed_dict, self._local_init_run_options)
        _logger.info("Done running local_init_op.")
        return True, None


def as_master(master: Any) -> str:
    """The address of a server, which has to be empty.

    Raises:
        UnimplementedError: it is one of another machine.
    """
    if master is None:
        return ""
    if not isinstance(master, (str, bytes)):
        raise DTypeError(f"master is the address of a server, as a string; got {shown(master)}.")
    if master in ("", "local", b"", b"local"):
        return ""
    raise UnimplementedError(
        f"Situs runs on one machine: its sessions use the devices of this process, and there is no server to connect "
        f"to at {shown(master)}. Leave `master` empty."
    )


def _restore(session: Session, saver: Any, folder: PathLike, prefix: Any, wait: Callable[[], None] | None) -> bool:
    if saver is None or not (folder or prefix):
        return False
    if prefix:
        _logger.info("Restoring parameters from %s", prefix)
        saver.restore(session, prefix)
        return True
    if wait is not None:
        wait()
    state = get_checkpoint_state(folder)
    if state is None:
        return False
    path = latest_checkpoint(folder) or state.model_checkpoint_path  # the latter is an error that says what is wrong
    _logger.info("Restoring parameters from %s", path)
    saver.restore(session, path)
    saver.recover_last_checkpoints(list(state.all_model_checkpoint_paths))
    return True


def _is_ready(session: Session, names: object) -> Readiness:
    """Whether there is nothing left that has no value."""
    if names is None:
        return True, None
    try:
        found = session.run(names)
    except FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            raise
        return False, str(error)
    if found is None or np.asarray(found).dtype == np.int32 or np.size(found) == 0:
        return True, None  # an operation that fails if something is missing does as well
    missing = ", ".join(_text(name) for name in np.ravel(found))
    return False, f"Variables not initialized: {missing}"


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _named(operation: Any) -> str:
    if isinstance(operation, (list, tuple)):
        return ", ".join(_named(item) for item in operation)
    return str(getattr(operation, "name", operation))


__all__ = ["SessionManager", "as_master"]
