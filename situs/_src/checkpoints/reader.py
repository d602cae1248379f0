"""Reading values from the files of a checkpoint.

    reader = CheckpointReader("run/model-3")
    reader.get_variable_to_shape_map()                 {"w": [2, 3]}
    reader.get_tensor("w")                             an array

Nothing in the files is trusted before it is checked: the index against its checksum and itself, a shard against the
size in the index, each value against its checksum when it is read. Memory is allocated for actual file contents only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.errors import DataLossError, NotFoundError, OpError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.progress import working
from situs._src.checkpoints import tensorflow_index
from situs._src.checkpoints.checksum import Checksum, beside
from situs._src.checkpoints.encoding import PIECE, Vessel
from situs._src.checkpoints.index import LARGEST, Entry, Index, Shard
from situs._src.checkpoints.layout import index_path, prefix_path, shard_path
from situs._src.checkpoints.opening import open_plain, read_plain
from situs._src.files.paths import translated
from situs._src.runtime.eager.bridge import Value
from situs._src.runtime.eager.tensor import to_numpy_value

_SIDE_BY_SIDE = 8  # variables that are read at a time: so many may be on the host that belong on a GPU
_WORTH_THREADS = 4 * 2**20  # bytes
_TRIES = 5  # a checkpoint may be replaced by another between the reading of its index and the opening of its shards


@export(v1="train.NewCheckpointReader")
class CheckpointReader:
    """Reads single variables of a checkpoint; what ``tf.train.load_checkpoint`` returns.

    Args:
        filepattern: The part that the names of its files have in common.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: its index is damaged.
    """

    def __init__(self, filepattern: Any) -> None:
        self._files: dict[int, int] = {}  # shards that are open; first, for __del__
        self.prefix = prefix_path(filepattern)
        self.index = _read_index(self.prefix)

    # What there is.

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether the checkpoint has a variable of this name."""
        return isinstance(tensor_str, str) and tensor_str in self.index.entries

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes of all variables, by name."""
        return {name: list(entry.shape) for name, entry in self.index.entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The dtypes of all variables, by name."""
        return {name: entry.dtype for name, entry in self.index.entries.items()}

    def debug_string(self) -> bytes:
        """One line for each variable: its name, dtype and shape."""
        lines = [
            f"{name} (DT_{entry.dtype.proto_name.upper()}) [{','.join(map(str, entry.shape))}]\n"
            for name, entry in self.index.entries.items()
        ]
        return "".join(lines).encode()

    def entry(self, name: str) -> Entry:
        """What the index says of a variable.

        Raises:
            NotFoundError: there is none of this name.
            UnimplementedError: it is of a dtype that only TensorFlow has.
        """
        found = self.index.entries.get(name) if isinstance(name, str) else None
        why = self.index.unreadable.get(name) if isinstance(name, str) else None
        if why is not None:
            raise UnimplementedError(f"Key {name} in checkpoint {self.prefix} cannot be read: {why}.")
        if found is None:
            names = list(self.index.entries)
            near = get_close_matches(str(name), names, n=1) if len(names) < 10_000 else []
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise NotFoundError(
                f"Key {name} not found in checkpoint {self.prefix}, which has {len(names)} variables.{hint}"
            )
        return found

    # Values.

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a variable as NumPy has it.

        Raises:
            NotFoundError: there is none of this name.
            DataLossError: its bytes are damaged.
        """
        array = to_numpy_value(self.read(tensor_str))
        return array[()] if array.ndim == 0 else array

    def read(self, name: str, alone: bool = True) -> Value:
        """The value of a variable as kernels have it, on the host.

        Args:
            name: Its name.
            alone: Whether there is a core to spare for the checksum.
        """
        entry = self.entry(name)
        if self.index.is_tensorflows:
            return tensorflow_index.read_value(entry, name, self)
        number = self._open(entry.shard)
        vessel = Vessel(entry.dtype, entry.shape, entry.size, name)
        with translated(self._path(entry.shard)), beside(len(vessel.view) if alone else 0) as pool:
            crc = _fill(number, entry.begin, vessel.view, Checksum(pool))
        if crc != entry.crc32:
            raise DataLossError(
                f"Variable {shown(name, 300)} in {self._path(entry.shard)} is damaged: the checksum of its "
                f"{entry.size} bytes is not the one they were saved with. Use an older checkpoint."
            )
        return vessel.value()

    def read_each(self, names: Sequence[str], use: Callable[[int, Value], None]) -> None:
        """Reads variables, several at a time if they are large.

        Args:
            names: Their names.
            use: Called with the number of each and its value, in any order and from any thread.
        """
        done: list[int] = []

        def used(number: int, value: Value) -> None:
            use(number, value)
            done.append(number)

        with working(f"Loading {self.prefix}", lambda: f"{len(done)} of {len(names)} variables"):
            self._read_each(names, used)

    def _read_each(self, names: Sequence[str], use: Callable[[int, Value], None]) -> None:
        workers = min(len(names), os.cpu_count() or 1, _SIDE_BY_SIDE)
        if workers < 2 or sum(self.entry(name).size for name in names) < _WORTH_THREADS:
            for number, name in enumerate(names):
                use(number, self.read(name))
            return
        for shard in set().union(*(self.entry(name).in_shards for name in names)):
            self._open(shard)
        with ThreadPoolExecutor(workers, thread_name_prefix="situs-restore") as pool:
            list(pool.map(lambda number: use(number, self.read(names[number], alone=False)), range(len(names))))

    def open_all(self) -> CheckpointReader:
        """Opens all shards now, so that the checkpoint may be deleted or replaced while it is read."""
        for attempt in range(_TRIES):
            try:
                for number in range(len(self.index.shards)):
                    self._open(number)
            except OpError:
                self.close()
                index = _read_index(self.prefix)
                if index == self.index or attempt == _TRIES - 1:
                    raise
                self.index = index
            else:
                break
        return self

    def close(self) -> None:
        """Closes the files; reading opens them again."""
        while self._files:
            os.close(self._files.popitem()[1])

    def __enter__(self) -> CheckpointReader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    # Of its files.

    def size(self, shard: int) -> int:
        """How many bytes a file with values has."""
        return os.fstat(self._open(shard)).st_size

    def fill(self, shard: int, begin: int, view: memoryview) -> None:
        """Reads bytes of a file with values into memory."""
        with translated(self._path(shard)):
            for _ in _filled(self._open(shard), begin, view):
                pass

    def _path(self, shard: int) -> Path:
        return shard_path(self.prefix, self.index.shards[shard].file)

    def _open(self, shard: int) -> int:
        found = self._files.get(shard)
        if found is None:
            found = self._files[shard] = _open_shard(self._path(shard), self.index.shards[shard])
        return found


def _read_index(prefix: Path) -> Index:
    path = index_path(prefix)
    with translated(path):
        try:
            content = read_plain(path, LARGEST)
        except FileNotFoundError:
            raise NotFoundError(_missing_text(prefix)) from None
    return tensorflow_index.index_in(content, path)


def _missing_text(prefix: Path) -> str:
    hint = "You may be missing the suffix: the '-1' in 'path/to/ckpt-1'."
    if prefix.is_dir():
        hint = "It is a folder: tf.train.latest_checkpoint(folder) gives the name of the latest checkpoint in it."
    return f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {prefix}. {hint}"


def _open_shard(path: Path, shard: Shard) -> int:
    with translated(path):
        try:
            number = open_plain(path)
        except FileNotFoundError:
            raise NotFoundError(f"{path} is missing: the checkpoint is not complete. Use another one.") from None
        try:
            _check_shard(number, path, shard)
        except BaseException:
            os.close(number)
            raise
    return number


def _check_shard(number: int, path: Path, shard: Shard) -> None:
    if shard.size is None:
        return  # each value says where it is
    size = os.fstat(number).st_size
    if size != shard.size:
        raise DataLossError(f"{path} is damaged: it has {size} bytes, and was saved with {shard.size}.")
    header = Checksum()
    for begin in range(0, shard.header, PIECE):
        header.update(os.pread(number, min(PIECE, shard.header - begin), begin))
    if header.value != shard.crc32:
        raise DataLossError(f"{path} is damaged: its header is not the one it was saved with. Use an older checkpoint.")


def _fill(number: int, begin: int, view: memoryview, checksum: Checksum) -> int:
    """Reads bytes of a file into memory; returns their checksum."""
    for piece in _filled(number, begin, view):
        checksum.update(piece)
    return checksum.value


def _filled(number: int, begin: int, view: memoryview) -> Iterator[memoryview]:
    done = 0
    while done < len(view):
        count = os.preadv(number, [view[done : done + PIECE]], begin + done)
        if count == 0:
            raise DataLossError(f"The file ended {len(view) - done} bytes early: it was cut while it was read.")
        yield view[done : done + count]
        done += count
