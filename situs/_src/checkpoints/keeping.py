"""Which checkpoints are kept: the last few, and one every so many hours.

    keeper = Keeper(max_to_keep=2, hours=1)
    keeper.add("model-1"), keeper.add("model-2"), keeper.add("model-3")
    keeper.paths          ["model-2", "model-3"]
    keeper.write_state(write, delete)      "model-1" is deleted, unless it is kept permanently

A checkpoint that is to be deleted stays listed in the file ``checkpoint`` until it is: if the process is killed before
that, the next one deletes it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from situs._src.base.errors import OpError

_logger = logging.getLogger("situs")


class Keeper:
    """The checkpoints that are kept, oldest first, each with the time it was saved at.

    Args:
        max_to_keep: How many; 0 for all of them, which are then not remembered.
        hours: How far those that are kept for ever lie apart at least.
        last_preserved: When the last of these was saved; now, if there is none.
    """

    def __init__(self, max_to_keep: float, hours: float, last_preserved: float | None = None) -> None:
        self.max_to_keep = max_to_keep
        self._hours = hours
        self.last_preserved = time.time() if last_preserved is None else last_preserved
        self._kept: dict[str, float] = {}
        self._leaving: list[tuple[str, float]] = []

    @property
    def paths(self) -> list[str]:
        """The checkpoints, oldest first."""
        return list(self._kept)

    @property
    def times(self) -> list[float]:
        """When each of them was saved."""
        return list(self._kept.values())

    def set(self, paths_and_times: Any) -> None:
        """Takes these for the checkpoints that are kept."""
        self._kept = {str(path): float(moment) for path, moment in paths_and_times}

    def add(self, path: str) -> None:
        """Takes a new checkpoint in; the oldest ones, if they are too many, have to go."""
        if self.max_to_keep <= 0:
            return
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._leaving = [leaving for leaving in self._leaving if leaving[0] != path]
        while len(self._kept) > self.max_to_keep:
            oldest = next(iter(self._kept))
            self._leaving.append((oldest, self._kept.pop(oldest)))

    def write_state(self, write: Callable[[list[str], list[float]], None], delete: Callable[[str], None]) -> None:
        """Writes down which checkpoints there are, deletes what has to go, and writes down that it is gone.

        Args:
            write: Writes the paths and times of some checkpoints down.
            delete: Deletes one.
        """
        if self._leaving:
            every = [*self._leaving, *self._kept.items()]
            write([path for path, _ in every], [moment for _, moment in every])
            self._drop(delete)
        write(self.paths, self.times)

    def _drop(self, delete: Callable[[str], None]) -> None:
        """Deletes what has to go, but keeps one every so many hours; what cannot be deleted stays, with a warning."""
        leaving, self._leaving = self._leaving, []
        for path, moment in leaving:
            if moment > self.last_preserved + 3600 * self._hours:
                self.last_preserved = moment
                continue
            try:
                delete(path)
            except OpError as error:
                _logger.warning("The old checkpoint %s cannot be deleted, and stays: %s", path, error)
