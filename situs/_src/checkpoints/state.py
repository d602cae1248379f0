"""The file ``checkpoint``: the latest checkpoint of a folder, and the others that are kept.

    model_checkpoint_path: "model-3"
    all_model_checkpoint_paths: "model-2"
    all_model_checkpoint_paths: "model-3"

Its format is TensorFlow's. Checkpoints in the folder of the file are named relative to it, so that the folder can be
moved. It is written last, when the checkpoint it names is complete, and atomically.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from situs._src.base.drafts import write_whole
from situs._src.base.errors import ArgumentError, OpError
from situs._src.base.export import export
from situs._src.base.proto.formats import parse, to_text
from situs._src.base.proto.meta_graph import CheckpointState
from situs._src.base.typing import PathLike
from situs._src.checkpoints.opening import read_plain
from situs._src.files.paths import as_text, as_texts, translated, without_scheme

_logger = logging.getLogger("situs")
_LARGEST = 16 * 2**20  # bytes
FILE = "checkpoint"


@export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: PathLike, latest_filename: str | None = None) -> CheckpointState | None:
    """What the file ``checkpoint`` of a folder says, with paths that begin with the folder.

    Args:
        checkpoint_dir: The folder.
        latest_filename: The name of the file, if it is not ``checkpoint``.

    Returns:
        The message; None if there is no such file, or it cannot be read.

    Raises:
        InvalidArgumentError: the file names no checkpoint.
    """
    folder = as_text(checkpoint_dir)
    path = Path(without_scheme(folder), as_text(latest_filename or FILE))
    if not os.path.lexists(path):
        return None
    try:
        with translated(path):
            state = parse(read_plain(path, _LARGEST), CheckpointState())
    except OpError as error:
        _logger.warning("%s cannot be used, and is ignored: %s", path, error)
        return None
    if not state.model_checkpoint_path:
        raise ArgumentError(f"Invalid checkpoint state loaded from {folder}: it names no checkpoint.")
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)  # noqa: PTH118 - as it was written
    paths = [os.path.join(folder, path) for path in state.all_model_checkpoint_paths]  # noqa: PTH118
    state.ClearField("all_model_checkpoint_paths")
    state.all_model_checkpoint_paths.extend(paths)
    return state


@export(v1="train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: PathLike,
    model_checkpoint_path: PathLike,
    all_model_checkpoint_paths: Sequence[Any] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the file ``checkpoint`` of a folder.

    Args:
        save_dir: The folder.
        model_checkpoint_path: The latest checkpoint.
        all_model_checkpoint_paths: All that are kept, oldest first.
        latest_filename: The name of the file, if it is not ``checkpoint``.
        all_model_checkpoint_timestamps: When each of them was saved, in seconds since 1970.
        last_preserved_timestamp: When the last one was saved that is kept for ever.
    """
    name = checked_file_name(latest_filename, model_checkpoint_path)
    state = _state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
        _in_folder,
    )
    path = Path(without_scheme(as_text(save_dir)), name)
    with translated(path):
        write_whole(path, to_text(state).encode())


@export(v1="train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: PathLike,
    model_checkpoint_path: PathLike,
    all_model_checkpoint_paths: Sequence[Any] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """What there is to say of the checkpoints of a folder, as a message.

    Paths that are given in full stay so. The file that `update_checkpoint_state` writes names what is in its folder by
    relative paths.
    """
    return _state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
        _as_given,
    )


def _state(
    save_dir: PathLike,
    model_checkpoint_path: PathLike,
    all_model_checkpoint_paths: Sequence[Any] | None,
    all_model_checkpoint_timestamps: Sequence[float] | None,
    last_preserved_timestamp: float | None,
    named: Callable[[Any, str], str],
) -> CheckpointState:
    given = [] if all_model_checkpoint_paths is None else as_texts(all_model_checkpoint_paths, "Checkpoints")
    times = None if all_model_checkpoint_timestamps is None else list(all_model_checkpoint_timestamps)
    if times is not None and len(times) != len(given):
        raise ArgumentError(
            f"Checkpoint timestamps, if provided, must match checkpoint paths (got paths {given} and timestamps "
            f"{times})"
        )
    folder = without_scheme(as_text(save_dir))
    latest, paths = named(model_checkpoint_path, folder), [named(path, folder) for path in given]
    if not paths or paths[-1] != latest:
        paths.append(latest)
        times = None  # there is none for the path that was added
    return CheckpointState(
        model_checkpoint_path=latest,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def _as_given(path: PathLike, folder: str) -> str:
    """A path as it is, if it is given in full; else relative to the folder."""
    text = without_scheme(as_text(path))
    return text if os.path.isabs(text) else _in_folder(path, folder)  # noqa: PTH117


def _in_folder(path: PathLike, folder: str) -> str:
    """A path as the file in `folder` names it; relative ones are, if the folder is given in full, relative to it."""
    text = without_scheme(as_text(path))
    if not os.path.isabs(text):  # noqa: PTH117
        return text if os.path.isabs(folder) else os.path.relpath(text, folder or ".")  # noqa: PTH117
    inside = os.path.relpath(text, folder or ".")
    return text if inside.startswith("..") else inside


def checked_file_name(latest_filename: Any, save_path: PathLike) -> str:
    """The name of the file, which must be one, and not the checkpoint's own.

    Raises:
        InvalidArgumentError: it is not.
    """
    name = FILE if latest_filename is None else as_text(latest_filename)
    if not name or "/" in name:
        raise ArgumentError("'latest_filename' must not contain path components, and must not be empty")
    if name == Path(as_text(save_path)).name:
        raise ArgumentError(f"'latest_filename' collides with 'save_path': '{name}' and '{as_text(save_path)}'")
    return name
