"""The position of a part in a partitioned variable: ``Variable.SaveSliceInfo``.

    SaveSliceInfo("w", [10, 4], [5, 0], [5, 4]).spec        "10 4 5,5:0,4": rows 5 to 9 of w

A ``Saver`` saves the parts of a variable under one name, and restores them into a variable with other parts, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from situs._src.base.errors import ArgumentError, shown

if TYPE_CHECKING:
    from situs._src.base.proto.meta_graph import SaveSliceInfoDef


class SaveSliceInfo:
    """Which part of a larger variable a variable is.

    Args:
        full_name: The name of the whole.
        full_shape: Its shape.
        var_offset: Where the part begins, in each dimension.
        var_shape: The shape of the part.
        save_slice_info_def: A message to take these from.
        import_scope: A name scope, whose name goes before that of the whole.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: SaveSliceInfoDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            scope = f"{import_scope}/" if import_scope else ""
            self.full_name: str | None = scope + save_slice_info_def.full_name
            self.full_shape: Any = list(save_slice_info_def.full_shape)
            self.var_offset: Any = list(save_slice_info_def.var_offset)
            self.var_shape: Any = list(save_slice_info_def.var_shape)
        else:
            self.full_name, self.full_shape = full_name, full_shape
            self.var_offset, self.var_shape = var_offset, var_shape

    @property
    def spec(self) -> str:
        """Shape, beginnings and sizes as TensorFlow writes them."""
        full = "".join(f"{size} " for size in self.full_shape)
        places = zip(self.var_offset, self.var_shape, strict=True)
        return full + ":".join(f"{offset},{size}" for offset, size in places)

    @staticmethod
    def from_spec(spec: str) -> SaveSliceInfo:
        """The part that `spec` describes.

        Raises:
            InvalidArgumentError: it describes none.
        """
        *full, places = spec.split(" ")
        if not full:
            raise ArgumentError(
                f"Spec string {shown(spec)} must contain space-separated full_shape info before its places."
            )
        pairs = [place.split(",") for place in places.split(":")]
        sizes = [_integer(size, "full_shape must be a sequence of integers", spec) for size in full]
        if len(pairs) != len(sizes) or any(len(pair) != 2 for pair in pairs):
            for pair in pairs:
                if len(pair) == 2:
                    _integer(pair[0], "var_offset must be an integer", spec)
                    _integer(pair[1], "var_shape must be an integer", spec)
            raise ArgumentError(
                f"Spec string {shown(spec)} must have comma-separated pairs of offsets and sizes, one for each of "
                f"{len(sizes)} dimensions."
            )
        offsets = [_integer(pair[0], "var_offset must be an integer", spec) for pair in pairs]
        return SaveSliceInfo(
            None, sizes, offsets, [_integer(p[1], "var_shape must be an integer", spec) for p in pairs]
        )

    def to_proto(self, export_scope: str | None = None) -> SaveSliceInfoDef:
        """The same as a message; a scope that is given is left out of the name."""
        from situs._src.base.proto.meta_graph import SaveSliceInfoDef  # here, because it loads protobuf

        name = self.full_name or ""
        return SaveSliceInfoDef(
            full_name=name if export_scope is None else name.removeprefix(f"{export_scope}/"),
            full_shape=list(self.full_shape),
            var_offset=list(self.var_offset),
            var_shape=list(self.var_shape),
        )


def _integer(text: str, rule: str, spec: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f"In the spec string {shown(spec)}, {rule}; got {shown(text)}.") from None
