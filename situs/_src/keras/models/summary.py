"""The table that ``Model.summary`` prints."""

from __future__ import annotations

from typing import Any

from situs._src.keras.layers.arguments import Arguments
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.calling import noting_shapes
from situs._src.keras.layers.symbolic import KerasTensor, replaced, scratch

_TITLES = ["Layer (type)", "Output Shape", "Param #"]


def summary_lines(model: Any, nested: bool, show_trainable: bool, width: int | None) -> list[str]:
    """The lines of the table.

    Args:
        model: The model.
        nested: Whether the layers of layers have rows too.
        show_trainable: Whether a column says which layers are trainable.
        width: How wide the lines are; as wide as they must be for None.
    """
    shapes = _output_shapes(model)
    titles = [*_TITLES, "Trainable"] if show_trainable else _TITLES
    rows = _rows(model.layers, shapes, nested, show_trainable, "")
    widths = [max(len(row[column]) for row in [titles, *rows]) + 2 for column in range(len(titles))]
    total = max(sum(widths), width or 0)
    table = ["".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = "".join(title.ljust(width) for title, width in zip(titles, widths, strict=True)).rstrip()
    return [f'Model: "{model.name}"', "_" * total, head, "=" * total, *table, "=" * total, *_totals(model)]


def _rows(
    layers: list[Layer], shapes: dict[int, Any], nested: bool, show_trainable: bool, indent: str
) -> list[list[str]]:
    rows = []
    for layer in layers:
        count = f"{layer.count_params():,}" if layer.built else "0 (unbuilt)"
        row = [f"{indent}{layer.name} ({type(layer).__name__})", str(shapes.get(id(layer), "?")), count]
        rows.append([*row, "Y" if layer.trainable else "N"] if show_trainable else row)
        if nested:
            rows += _rows(layer._sublayers(), shapes, nested, show_trainable, indent + "  ")
    return rows


def _totals(model: Any) -> list[str]:
    trainable, whole = _size(model.trainable_weights), _size(model.weights)
    pairs = (
        ("Total", whole),
        ("Trainable", trainable),
        ("Non-trainable", (whole[0] - trainable[0], whole[1] - trainable[1])),
    )
    return [f"{name} params: {count:,} ({_bytes(size)})" for name, (count, size) in pairs]


def _size(variables: list[Any]) -> tuple[int, int]:
    """The numbers that variables hold, and their bytes."""
    counts = [variable.shape.num_elements() or 0 for variable in variables]
    return sum(counts), sum(n * variable.dtype.size for n, variable in zip(counts, variables, strict=True))


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} GB"


def _output_shapes(model: Any) -> dict[int, Any]:
    """The shapes of the outputs of layers, if the model is drawn or has been called."""
    call: Arguments | None = Arguments((model.input,), {}) if model.inputs else model._first_call
    shapes: dict[int, Any] = {}
    if call is None or not model.built:
        return shapes
    with scratch() as graph, noting_shapes(shapes):

        def stand_in(tensor: KerasTensor) -> Any:
            return graph.add_argument(*tensor.spec())

        model(*replaced(list(call.args), stand_in), **replaced(call.kwargs, stand_in))
    return shapes
