"""The folder of a saved model, and the file ``saved_model.pb`` in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from situs._src.base.drafts import write_whole
from situs._src.base.errors import ArgumentError, DataLossError, InvalidArgumentError, NotFoundError, shown
from situs._src.base.export import export
from situs._src.base.proto.formats import from_bytes, parse, to_text
from situs._src.base.proto.saved_model import MetaGraphDef, SavedModel
from situs._src.checkpoints.opening import read_plain
from situs._src.files.paths import as_text, local, translated

FILE, TEXT_FILE = "saved_model.pb", "saved_model.pbtxt"
VARIABLES, ASSETS = "variables", "assets"
SCHEMA = 1
_LARGEST = 2**31  # bytes: no message is larger


class NoModelError(NotFoundError, OSError):
    """There is no saved program; TensorFlow's programs know it as an ``OSError``."""


@export(
    "saved_model.contains_saved_model",
    v1=(
        "saved_model.contains_saved_model",
        "saved_model.maybe_saved_model_directory",
        "saved_model.loader.maybe_saved_model_directory",
    ),
    as_is=True,
)
def contains_saved_model(export_dir: Any) -> bool:
    """Whether a folder has a program that `tf.saved_model.save` has written.

    Args:
        export_dir: The folder.
    """
    if not isinstance(export_dir, (str, bytes, os.PathLike)):
        return False
    folder = local(export_dir)
    return (folder / FILE).is_file() or (folder / TEXT_FILE).is_file()


def variables_prefix(folder: Path) -> str:
    """Where the values of variables are."""
    return str(folder / VARIABLES / VARIABLES)


def write_model(folder: Path, graphs: Sequence[MetaGraphDef], as_readable: bool = False) -> str:
    """Writes graphs into the file of a folder, and returns its path.

    Args:
        folder: The folder, which is there.
        graphs: The graphs.
        as_readable: Whether the file is text: one graph after the other.

    Raises:
        InvalidArgumentError: they are too large for a file.
    """
    path = folder / (TEXT_FILE if as_readable else FILE)
    try:
        if as_readable:
            texts = [f"meta_graphs {{\n{to_text(graph)}}}\n" for graph in graphs]
            content = "".join([f"saved_model_schema_version: {SCHEMA}\n", *texts]).encode()
        else:
            parts = [graph.SerializeToString(deterministic=True) for graph in graphs]
            content = SavedModel(saved_model_schema_version=SCHEMA, meta_graphs=parts).SerializeToString()
    except ValueError as error:
        raise ArgumentError(f"The program cannot be written to one file: {error}.") from None
    if len(content) >= _LARGEST:
        raise ArgumentError(f"The program has {len(content)} bytes; a file has less than {_LARGEST}.")
    with translated(path):
        write_whole(path, content)
    return str(path)


def read_model(export_dir: Any) -> list[MetaGraphDef]:
    """The graphs of a folder.

    Raises:
        OSError: there is no program, or it is damaged.
    """
    folder = local(export_dir)
    for name, read in ((FILE, _from_bytes), (TEXT_FILE, _from_text)):
        path = folder / name
        with translated(path):
            if not path.is_file():
                continue
            content = read_plain(path, _LARGEST)
        try:
            return read(content)
        except (InvalidArgumentError, DataLossError) as error:
            raise DataLossError(f"Cannot parse file {path}: {error}") from None
    raise NoModelError(
        f"SavedModel file does not exist at: {as_text(export_dir)}{os.sep}{{{TEXT_FILE}|{FILE}}}"
        + ("" if folder.is_dir() else ": there is no such folder.")
    )


def _from_bytes(content: bytes) -> list[MetaGraphDef]:
    model = from_bytes(content, SavedModel)
    _check(model.saved_model_schema_version, len(model.meta_graphs))
    return [from_bytes(part, MetaGraphDef) for part in model.meta_graphs]


def _from_text(content: bytes) -> list[MetaGraphDef]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DataLossError(f"it is no text: {error}") from None
    version, *parts = text.split("meta_graphs {\n")
    graphs = [parse(part.rstrip().removesuffix("}"), MetaGraphDef()) for part in parts]
    number = version.partition(":")[2].strip()
    _check(int(number) if number.isdecimal() else 0, len(graphs))
    return graphs


def _check(version: int, count: int) -> None:
    if version != SCHEMA or not count:
        raise DataLossError(f"it has {count} graphs and the version {version}; a saved program has version {SCHEMA}.")


def tag_list(tags: Any) -> list[str]:
    """Tags as a list.

    Raises:
        ValueError: they are not strings.
    """
    given = [tags] if isinstance(tags, str) else list(tags) if isinstance(tags, Iterable) else [tags]
    if not all(isinstance(tag, str) for tag in given):
        raise ArgumentError(f"Tags are strings, got {shown(tags)}.")
    return list(dict.fromkeys(given))


def with_tags(graphs: Sequence[MetaGraphDef], tags: Any, export_dir: Any) -> MetaGraphDef:
    """The graph that has exactly these tags; without tags, the only one.

    Raises:
        RuntimeError: there is none, or without tags there are several.
    """
    found = [sorted(graph.meta_info_def.tags) for graph in graphs]
    if tags is None:
        if len(graphs) == 1:
            return graphs[0]
        raise WrongTagsError(f"{as_text(export_dir)} has several graphs: give the tags of one of them: {found}.")
    wanted = sorted(tag_list(tags))
    for graph, own in zip(graphs, found, strict=True):
        if own == wanted:
            return graph
    raise WrongTagsError(
        f"MetaGraphDef associated with tags {{{', '.join(wanted)}}} could not be found in SavedModel "
        f"{as_text(export_dir)}, with available tags '{found}'. A graph is found by all of its tags."
    )


class WrongTagsError(NotFoundError, RuntimeError, ValueError):
    """No graph has the tags; TensorFlow's programs know it as a ``RuntimeError`` or a ``ValueError``."""
