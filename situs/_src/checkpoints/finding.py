"""Finding, inspecting and deleting checkpoints.

>>> latest_checkpoint("no/such/folder") is None
True
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from situs._src.base.drafts import draft_path
from situs._src.base.errors import InvalidArgumentError, NotFoundError, OpError
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.checkpoints.layout import index_path, prefix_path, shards_on_disk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.state import get_checkpoint_state
from situs._src.checkpoints.sweeping import delete_unused
from situs._src.files.paths import as_text, as_texts, translated, without_scheme

_logger = logging.getLogger("situs")
_TRIED = 100  # older checkpoints that are looked at if the latest is not complete


@export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """The prefix of the latest checkpoint of a folder that is complete; None if there is none.

    Args:
        checkpoint_dir: The folder.
        latest_filename: The name of the file that tells, if it is not ``checkpoint``.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    older = list(state.all_model_checkpoint_paths)[: -_TRIED - 1 : -1]
    for path in dict.fromkeys([state.model_checkpoint_path, *older]):
        try:
            CheckpointReader(path).open_all().close()
            return str(path)
        except OpError as error:
            _logger.warning("The checkpoint %s is not complete, and is passed over: %s", path, error)
    return None


@export(v1="train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: PathLike) -> bool:
    """Whether there is a checkpoint with this prefix."""
    try:
        return os.path.lexists(index_path(prefix_path(checkpoint_prefix)))
    except InvalidArgumentError:
        return False


@export(v1="train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[Any]) -> list[float]:
    """When checkpoints were saved, in seconds since 1970; those that are not there are left out."""
    paths = [index_path(prefix_path(prefix)) for prefix in as_texts(checkpoint_prefixes, "Checkpoints")]
    times: list[float] = []
    for path in paths:
        with translated(path):
            if path.exists():
                times.append(path.stat().st_mtime)
    return times


# Looking into them.


@export("train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """A reader of the latest checkpoint in a folder, or of the one with this prefix.

    Raises:
        NotFoundError: there is none.
    """
    text = as_text(ckpt_dir_or_file)
    place = without_scheme(text)
    with translated(text):
        is_folder = Path(place).is_dir()
    if not is_folder or os.path.lexists(f"{place}.index"):
        return CheckpointReader(text)
    found = latest_checkpoint(text)
    if found is None:
        raise NotFoundError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {text}")
    return CheckpointReader(found)


@export("train.list_variables")
def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """The names and shapes of all variables of a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


@export("train.load_variable")
def load_variable(ckpt_dir_or_file: PathLike, name: str) -> Any:
    """The value of one variable of a checkpoint as NumPy has it; ``"w:0"`` stands for ``"w"``."""
    with load_checkpoint(ckpt_dir_or_file) as reader:
        return reader.get_tensor(name.removesuffix(":0") if isinstance(name, str) else name)


# Deleting them.


@export(v1="train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: PathLike, checkpoint_format_version: object = None, meta_graph_suffix: str = "meta"
) -> None:
    """Deletes the files of a checkpoint; nothing if there is none.

    Args:
        checkpoint_prefix: The part that its files have in common.
        checkpoint_format_version: Accepted for TensorFlow's programs.
        meta_graph_suffix: How the name of the file with its graph ends.
    """
    prefix = prefix_path(checkpoint_prefix)
    with translated(prefix):
        if not prefix.parent.is_dir():
            return
        buried = draft_path(prefix.parent)  # if this is not the end of it, `sweep` sees to the rest
        with suppress(FileNotFoundError):
            index_path(prefix).rename(buried)
        prefix.with_name(f"{prefix.name}.{meta_graph_suffix}").unlink(missing_ok=True)
        if delete_unused(prefix, shards_on_disk(prefix)):
            buried.unlink(missing_ok=True)
