"""``tf.train.init_from_checkpoint``: variables that begin with what a checkpoint holds.

    tf.train.init_from_checkpoint("bert/model.ckpt", {"bert/": "bert/"})
    session.run(tf.global_variables_initializer())            # reads these from the file, the others as they were

A variable keeps its initializer's name; what it assigns is read from the file when it is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from situs._src.base.dtype import as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.typing import PathLike
from situs._src.checkpoints.finding import load_checkpoint
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.ir.graph.context import get_default_graph
from situs._src.ops.cast import cast
from situs._src.ops.python_function import py_func
from situs._src.variables.partitioned import PartitionedVariable
from situs._src.variables.store import store_of
from situs._src.variables.symbolic import RefVariable


@export(v1="train.init_from_checkpoint")
def init_from_checkpoint(ckpt_dir_or_file: PathLike, assignment_map: Any) -> None:
    """Lets the initializers of variables read what a checkpoint holds.

    Args:
        ckpt_dir_or_file: A checkpoint, or a folder whose latest is taken.
        assignment_map: From names in the checkpoint to variables, their names, or lists of the parts of one; or from
            scopes of the checkpoint to scopes of the graph, each with a slash at its end: ``{"old/": "new/"}``, where
            ``"/"`` is the root. Pairs are accepted, too.

    Raises:
        ValueError: a name or a scope is not there, or a shape differs.
    """
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    reader = load_checkpoint(ckpt_dir_or_file)
    saved = reader.get_variable_to_shape_map()
    store = store_of(get_default_graph())
    parts = {f"{name}/part_{number}" for name, whole in store.partitioned.items() for number, _ in enumerate(whole)}
    known = {name: variable for name, variable in store.variables.items() if name not in parts} | store.partitioned
    for old, new in pairs:
        if not isinstance(old, str):
            raise DTypeError(f"Names of a checkpoint are strings, got {shown(old)}.")
        if not isinstance(new, str) or new in known:
            _begin_with(known[new] if isinstance(new, str) else new, reader, old, saved)
        else:
            for name, variable in _of_scope(old, new, saved, known).items():
                _begin_with(variable, reader, name, saved)


def _of_scope(old: str, new: str, saved: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a scope by their names in the checkpoint."""
    inside = new[: new.rfind("/") + 1].removeprefix("/")
    if not old.endswith("/"):
        raise ArgumentError(
            f"Assignment map with scope only name {inside.removesuffix('/')} should map to scope only {old}. Should be "
            f"'scope/': 'other_scope/'; or there is no variable {new!r}."
        )
    found = {}
    for name, variable in sorted(known.items()):
        if name.startswith(inside):
            before = old.removeprefix("/") + name.removeprefix(inside)
            if before not in saved:
                raise ArgumentError(
                    f"Tensor {before} ({name} in {new}) is not found in the checkpoint: it holds {_some(saved)}."
                )
            found[before] = variable
    return found


def _some(saved: Mapping[str, Any]) -> str:
    return ", ".join(sorted(saved)[:20])


def _begin_with(variable: Any, reader: CheckpointReader, name: str, saved: Mapping[str, Any]) -> None:
    """Lets a variable, or the parts of one, begin with a value of the checkpoint."""
    if name not in saved:
        raise ArgumentError(f'Tensor "{name}" is not found in the checkpoint: it holds {_some(saved)}.')
    parts = list(variable) if isinstance(variable, (list, tuple, PartitionedVariable)) else [variable]
    for part in parts:
        if not isinstance(part, RefVariable):
            raise DTypeError(f"Variables of a graph begin with values of a checkpoint, got {shown(part)}.")
    slices = [getattr(part, "_save_slice_info", None) for part in parts]
    whole = parts[0].shape if slices[0] is None else TensorShape(slices[0].full_shape)
    if not whole.is_compatible_with(saved[name]):
        raise ArgumentError(
            f"Shape of variable {parts[0].name} ({whole}) doesn't match with shape of tensor {name} ({saved[name]}) "
            "from checkpoint reader."
        )
    for part, place in zip(parts, slices, strict=True):
        part.begin_with(_read_later(reader, name, part, place))


def _read_later(reader: CheckpointReader, name: str, variable: RefVariable, place: Any) -> Any:
    """A function that gives a tensor, whose value is read from the checkpoint when it is wanted."""
    kept = as_dtype(reader.get_variable_to_dtype_map()[name])

    def value() -> Any:
        whole = reader.get_tensor(name)
        if place is None:
            return whole
        first = zip(place.var_offset, place.var_shape, strict=True)
        return whole[tuple(slice(begin, begin + size) for begin, size in first)]

    def tensor() -> Any:
        made = py_func(value, (), kept, name="checkpoint_initializer")
        made.set_shape(variable.shape)
        return cast(made, variable.dtype)

    return tensor
