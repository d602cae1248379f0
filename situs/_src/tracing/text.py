"""The signature of a ``tf.function``'s graph as text, in TensorFlow's format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import Parameter

from situs._src.base.export import export
from situs._src.base.tree import LEAF, Form
from situs._src.tracing.kind import Kind
from situs._src.tracing.parameters import Parameters, titles_of
from situs._src.tracing.spec import TensorSpec


def type_text(form: object, specs: Iterator[TensorSpec]) -> str:
    """A structure with the specs of its tensors: ``List[TensorSpec(...), Literal[3]]``."""
    if form is LEAF:
        return repr(next(specs))
    if not isinstance(form, Form):
        return f"Literal[{form!r}]"
    inside = [type_text(item, specs) for item in form.items]
    if form.is_composite and form.extra is not None:
        return repr(form.extra)
    if form.is_mapping:
        pairs = zip(form.keys, inside, strict=True)
        return f"Dict[{', '.join(f'[{key!r}, {item}]' for key, item in pairs)}]"
    name = form.kind.__name__
    return f"{name.capitalize() if name.islower() else name}[{', '.join(inside)}]"


def input_texts(parameters: Parameters, kind: Kind) -> list[tuple[str, str, str]]:
    """Name, kind and type of each parameter."""
    positional, keywords = kind.form.items
    specs = iter(kind.specs)
    titles = titles_of(parameters.signature, len(positional.items))
    found = [
        (title, _sort(parameters, title), type_text(item, specs))
        for title, item in zip(titles, positional.items, strict=True)
    ]
    found += [
        (key, "KEYWORD_ONLY", type_text(item, specs)) for key, item in zip(keywords.keys, keywords.items, strict=True)
    ]
    return found


def _sort(parameters: Parameters, title: str) -> str:
    parameter = parameters.signature.parameters.get(title)
    return (Parameter.VAR_POSITIONAL if parameter is None else parameter.kind).name


def one_line(inputs: Sequence[tuple[str, str, str]], output: str) -> str:
    """A signature in one line: ``(a: TensorSpec(...)) -> TensorSpec(...)``."""
    return f"({', '.join(f'{name}: {text}' for name, _, text in inputs)}) -> {output}"


def many_lines(inputs: Sequence[tuple[str, str, str]], output: str, captures: Sequence[str]) -> str:
    """A signature as a small table."""
    lines = ["Input Parameters:", *[f"  {name} ({sort}): {text}" for name, sort, text in inputs]]
    lines += ["Output Type:", f"  {output}", "Captures:", *[f"  {text}" for text in captures or ["None"]]]
    return "\n".join(lines)


@export("types.experimental.FunctionType")
class FunctionType:
    """What a graph of a ``tf.function`` takes and gives, as text: in one line by ``str``, as a table by ``repr``.

    Attributes:
        parameters: The kind of each parameter, by its name, as text.
        output: The kind of what it gives, as text.
    """

    def __init__(self, inputs: Sequence[tuple[str, str, str]], output: str, captures: Sequence[str]) -> None:
        self._inputs, self.output, self._captures = inputs, output, captures

    @property
    def parameters(self) -> dict[str, str]:
        """The kind of each parameter, by its name."""
        return {name: text for name, _, text in self._inputs}

    def __str__(self) -> str:
        return one_line(self._inputs, self.output)

    def __repr__(self) -> str:
        return many_lines(self._inputs, self.output, self._captures)
