"""How each public name compares with TensorFlow's: the same, differs (and how), or Situs' own; and what is absent.

    tensorflow_names.txt         what TensorFlow has: names and their parameters, recorded from TensorFlow itself
    @export(..., differs="...")  what a function says of itself
    situs                        what there is, with its signatures

A name *differs* if its export says how, or if it lacks parameters that TensorFlow's has. It is the *same* if TensorFlow
has it and neither holds, and Situs' *own* if TensorFlow has no such name. A name of TensorFlow 1's dialect differs as
its namesake does, unless it says otherwise itself: most are one function.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path

from scripts import write_api

V1 = "compat.v1"
RECORDED = Path(__file__).with_name("tensorflow_names.txt")


@dataclass(frozen=True)
class Verdict:
    """How a name compares: ``same``, ``differs`` or ``own``, and in words how it differs."""

    kind: str
    how: str = ""

    def __str__(self) -> str:
        return {"same": "the same", "differs": f"differs: {self.how}", "own": "not in TensorFlow"}[self.kind]


class Comparison:
    """Situs' names beside TensorFlow's."""

    def __init__(self) -> None:
        self._tensorflow = dict(_read(line) for line in RECORDED.read_text().splitlines() if not line.startswith("#"))
        self._differences = write_api.differences()
        self.version = RECORDED.read_text().split(",", 1)[0].removeprefix("# ")

    def verdict(self, name: str, value: object) -> Verdict:
        """How a public name of Situs compares.

        Args:
            name: The name below ``situs``, such as ``nn.relu`` or ``compat.v1.placeholder``.
            value: What it is.
        """
        if name not in self._tensorflow:
            return Verdict("own")
        said = self._differences.get(name) or self._differences.get(name.removeprefix(f"{V1}."), "")
        lacking = self._lacking(name, value)
        if lacking:
            arguments = ", ".join(f"`{each}`" for each in lacking)
            said = f"{said} Takes no {arguments}.".strip()
        return Verdict("differs", said) if said else Verdict("same")

    def absent(self, names: set[str]) -> list[str]:
        """TensorFlow's names that are not among these, sorted."""
        return sorted(self._tensorflow.keys() - names)

    def _lacking(self, name: str, value: object) -> list[str]:
        """Parameters that TensorFlow's function has and this one lacks."""
        theirs = self._tensorflow[name]
        if not theirs or not callable(value):
            return []
        try:
            ours = inspect.signature(value).parameters
        except (TypeError, ValueError):
            return []
        if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in ours.values()):
            return []
        return [each for each in theirs if not each.startswith("*") and each not in ours]


def _read(line: str) -> tuple[str, list[str]]:
    """``nn.relu(features,name)`` as the name and its parameters."""
    name, _, parameters = line.partition("(")
    return name, [each for each in parameters.rstrip(")").split(",") if each]
