"""Sharding of datasets: the policies of ``tf.data.experimental.AutoShardPolicy``.

    TFRecordDataset(files).shuffle(100).batch(32)
        FILE, worker 1 of 2     TFRecordDataset(files.shard(2, 1)).shuffle(100).batch(32)
    from_tensor_slices(files).shuffle(10).interleave(TFRecordDataset)
        FILE, worker 1 of 2     from_tensor_slices(files).shard(2, 1).shuffle(10).interleave(TFRecordDataset)

A dataset is a tree of nodes that know their arguments, so the tree can be rebuilt with other sources. File names
are sharded before they are shuffled, so that no two workers read the same file, however they shuffle.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.dtype import int64
from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.data.batching import Batch
from situs._src.data.dataset import Dataset
from situs._src.data.nesting import FlatMap, Interleave
from situs._src.data.node import Binding, Node, stages_of
from situs._src.data.options import AutoShardPolicy
from situs._src.data.selecting import Repeat, Shard
from situs._src.data.shuffling import Shuffle
from situs._src.data.text import FileReader, Files
from situs._src.ops.constant import constant


def of_worker(dataset: Dataset, workers: int, worker: int) -> Dataset | None:
    """The dataset of one worker, by the dataset's policy; None if each worker takes its part of every batch.

    Args:
        dataset: The dataset, which all workers have.
        workers: The number of workers.
        worker: The number of this one.

    Raises:
        ValueError: files are to be sharded, and the dataset reads none, or fewer than there are workers.
    """
    policy = (
        getattr(getattr(dataset.options(), "experimental_distribute", None), "auto_shard_policy", None)
        or AutoShardPolicy.AUTO
    )
    if policy is AutoShardPolicy.OFF:
        return dataset
    if policy is AutoShardPolicy.DATA:
        return None
    if policy is AutoShardPolicy.HINT:
        raise UnimplementedError(
            "AutoShardPolicy.HINT is not there: shard the dataset with strategy.distribute_datasets_from_function."
        )
    names = [found for stage in stages_of(dataset._node) if (found := _names(stage)) is not None]
    counts = [node.cardinality(Binding()) for node in names if not node.symbols]
    too_few = [count for count in counts if 0 <= count < workers]  # negative: unknown or infinite
    if not counts or too_few:
        if policy is AutoShardPolicy.FILE:
            what = "no files" if not counts else f"{min(too_few)} file{'s' if min(too_few) != 1 else ''}"
            raise ArgumentError(
                f"AutoShardPolicy.FILE deals out the files of a dataset among {workers} workers, and this one reads "
                f"{what}. Use AutoShardPolicy.DATA, or write it in more files."
            )
        return None
    return Dataset._of(_with_own_files(dataset._node, workers, worker, {}))


def _names(stage: Node) -> Node | None:
    """The node that yields the file names of a node that lists or reads them; None for any other."""
    if isinstance(stage, Files):
        return stage
    return stage.inputs[0] if _takes_names(stage) else None


def _takes_names(node: Node) -> bool:
    """Whether the inputs of a node are file names: it, or the datasets that it creates, reads them."""
    if isinstance(node, FileReader):
        return True
    made = node.function.returned if isinstance(node, (FlatMap, Interleave)) else ()
    return any(isinstance(stage, FileReader) for each in made for stage in stages_of(each))


def _with_own_files(node: Node, workers: int, worker: int, made: dict[int, Node]) -> Node:
    """A node rebuilt with every n-th file only."""
    if id(node) in made:
        return made[id(node)]
    if isinstance(node, Files):
        found: Node = _listed(node, workers, worker)
    else:
        names = node.inputs[0] if _takes_names(node) else None
        if names is not None and not any(isinstance(each, Files) for each in stages_of(names)):
            while isinstance(names, (Shuffle, Repeat)):
                names = names.inputs[0]
            made[id(names)] = Shard(names, workers, worker)
        args, kwargs = node.made_with

        def again(value: Any) -> Any:
            if isinstance(value, Node):
                return _with_own_files(value, workers, worker, made)
            return type(value)(map(again, value)) if type(value) in (list, tuple) else value

        found = type(node)(*map(again, args), **{name: again(value) for name, value in kwargs.items()})
        found.where = node.where
    made[id(node)] = found
    return found


def _listed(node: Files, workers: int, worker: int) -> Node:
    """Files that match a pattern: sharded in the order of their names, and shuffled after that."""
    patterns, shuffles, seed = node.made_with[0]
    own = Shard(Files(patterns, False, None), workers, worker)
    if not shuffles:
        return own
    return Dataset._of(own).shuffle(max(node.cardinality(Binding()), 1), seed)._node


def compute_batch_size(dataset: Any) -> Any:
    """The batch size of a dataset, as far as known in advance; -1 if unknown."""
    sizes = {leaf.shape[0] for leaf in dataset._node.spec.leaves if leaf.shape.rank}
    stage = dataset._node
    while sizes == {None} and len(stage.inputs) == 1:
        if isinstance(stage, Batch):
            sizes = {stage._size if isinstance(stage._size, int) else None}
        stage = stage.inputs[0]
    found = sizes.pop() if len(sizes) == 1 else None
    return constant(-1 if found is None else found, int64)
