"""``tf.resource_loader``: files next to the calling program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from situs._src.base.errors import NotFoundError, StateError, shown
from situs._src.base.export import export
from situs._src.files.paths import as_text


def _folder() -> Path:
    """The folder of the file that called, outside of Situs."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] != "situs" and not file.startswith("<"):
            return Path(file).resolve().parent
        if frame.f_back is None:
            break
        frame = frame.f_back
    raise StateError("This was not called by a file, so that there is nothing beside it.")


@export(v1="resource_loader.get_data_files_path", as_is=True)
def get_data_files_path() -> str:
    """The folder of the file that calls this."""
    return str(_folder())


@export(v1="resource_loader.get_root_dir_with_all_resources", as_is=True)
def get_root_dir_with_all_resources() -> str:
    """The same: there is no other place for files of a program."""
    return str(_folder())


@export(v1="resource_loader.get_path_to_datafile", as_is=True)
def get_path_to_datafile(path: Any) -> str:
    """The path of a file that lies beside the one that calls this.

    Args:
        path: Its path, from there.
    """
    return os.path.join(_folder(), as_text(path))  # noqa: PTH118 - which keeps an absolute path


@export(v1="resource_loader.load_resource", as_is=True)
def load_resource(path: Any) -> bytes:
    """The content of a file that lies beside the one that calls this.

    Args:
        path: Its path, from there.

    Raises:
        OSError: there is none.
    """
    file = Path(os.path.join(_folder(), as_text(path)))  # noqa: PTH118
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise NoResourceError(f"{getattr(error, 'strerror', None) or error}: {shown(str(file))}") from None


class NoResourceError(NotFoundError, OSError):
    """There is no such file; TensorFlow raises an ``IOError``."""
