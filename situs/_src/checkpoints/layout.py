"""The names of the files of a checkpoint.

    shard_path(Path("run/model-3"), "data-00000-of-00001.safetensors")
        run/model-3.data-00000-of-00001.safetensors

A checkpoint is named by its *prefix*, the common part of its file names. The index stores only the rest of a shard's
name, so a checkpoint can be moved and renamed, and no index can refer to any other place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from situs._src.base.errors import InvalidArgumentError
from situs._src.files.paths import as_text, without_scheme

INDEX = ".index"
_SHARD = re.compile(r"data-[0-9]{5}-of-[0-9]{5}(?:-[0-9a-f]{8})?\.safetensors")
_TENSORFLOWS_SHARD = re.compile(r"data-[0-9]{5}-of-[0-9]{5}")
MOST_SHARDS = 99999


def prefix_path(prefix: Any) -> Path:
    """The prefix of a checkpoint, as a place on this machine.

    Raises:
        InvalidArgumentError: it has no name after the last slash.
    """
    text = without_scheme(as_text(prefix))
    if not text or text.endswith("/") or Path(text).name in ("", ".", ".."):
        raise InvalidArgumentError(
            f"A checkpoint needs a name: {as_text(prefix)!r} has none. Give a path such as 'run/model.ckpt'."
        )
    return Path(text)


def index_path(prefix: Path) -> Path:
    """The index: what makes a checkpoint one."""
    return prefix.with_name(prefix.name + INDEX)


def shard_path(prefix: Path, file: str) -> Path:
    """One of the files with values, by the name that the index gives it."""
    return prefix.with_name(f"{prefix.name}.{file}")


def shard_file(number: int, count: int, token: str = "") -> str:
    """What the index calls a shard.

    Args:
        number: Which one, from 0 on.
        count: How many there are.
        token: Tells it from shards of an earlier checkpoint of the same prefix.
    """
    return f"data-{number:05}-of-{count:05}{token and f'-{token}'}.safetensors"


def is_shard_file(file: str) -> bool:
    """Whether an index of Situs may name a shard like this."""
    return _SHARD.fullmatch(file) is not None


def shards_on_disk(prefix: Path) -> list[Path]:
    """The files that have names of shards of this checkpoint, whether its index knows them or not."""
    start = f"{prefix.name}."
    found = {path: path.name[len(start) :] for path in prefix.parent.iterdir() if path.name.startswith(start)}
    return sorted(path for path, file in found.items() if is_shard_file(file) or _TENSORFLOWS_SHARD.fullmatch(file))
