"""Reading event files back: ``tf.train.summary_iterator``.

for event in tf.train.summary_iterator(path):
    for value in event.summary.value:
        print(event.step, value.tag, value.simple_value)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from situs._src.base.errors import NotFoundError
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.files.paths import local, translated
from situs._src.summaries import messages


@export(v1="train.summary_iterator")
def summary_iterator(path: PathLike) -> Iterator[Any]:
    """The events of a file, one after the other.

    Args:
        path: The file.

    Raises:
        NotFoundError: there is no such file.
    """
    file = local(path)
    with translated(path):
        is_there = file.is_file()
    if not is_there:
        raise NotFoundError(f"{file}; No such file or directory")
    loader = messages.part("tensorboard.backend.event_processing.event_file_loader")
    return iter(loader.LegacyEventFileLoader(str(file)).Load())
