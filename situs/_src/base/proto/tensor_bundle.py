"""Messages in the index of a checkpoint that TensorFlow has written: of the whole, and of each tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

from situs._src.base.proto.own import message_classes

if TYPE_CHECKING:
    Extent = TensorSliceProto = BundleEntryProto = BundleHeaderProto = Any
else:
    Extent, TensorSliceProto, BundleEntryProto, BundleHeaderProto = message_classes(
        __name__,
        {
            "Extent": (
                "A part of one dimension: all of it where there is no length.",
                {"start": (1, "int64"), "length": (2, "int64", "has_length")},
            ),
            "TensorSliceProto": ("A part of a tensor, by dimensions.", {"extent": (1, "Extent*")}),
            "BundleEntryProto": (
                "A tensor: its dtype, its shape (a `TensorShapeProto`), and its bytes or its parts.",
                {
                    "dtype": (1, "int32"),
                    "shape": (2, "bytes"),
                    "shard_id": (3, "int32"),
                    "offset": (4, "int64"),
                    "size": (5, "int64"),
                    "crc32c": (6, "fixed32"),
                    "slices": (7, "TensorSliceProto*"),
                },
            ),
            "BundleHeaderProto": (
                "The files of a checkpoint: how many, and in which order their numbers have their bytes.",
                {"num_shards": (1, "int32"), "endianness": (2, "int32")},
            ),
        },
    )

__all__ = [
    "BundleEntryProto",
    "BundleHeaderProto",
    "Extent",
    "TensorShapeProto",
    "TensorSliceProto",
    "TrackableObjectGraph",
]
