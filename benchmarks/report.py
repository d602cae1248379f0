"""What all benchmarks print alike: the machine, and bars.

A bar is the most that a figure may be. Each is a line of its own below a benchmark's tables, from which
``python -m benchmarks`` makes one table of them all:

    bar: matmul 2x3 @ 3x2 | 1.42x torch | 1.5 | reached
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass

import torch

MARK = "bar: "


@dataclass(frozen=True)
class Bar:
    """The most that a figure may be.

    Attributes:
        what: What was measured.
        figure: What was found.
        most: What was wanted, in the same unit.
        unit: The unit, and of whom a ratio is one: "x torch".
        digits: How many digits of the figure are shown behind the point.
        noise: The share by which two measurements of the same differ.
    """

    what: str
    figure: float
    most: float
    unit: str = ""
    digits: int = 2
    noise: float = 0.0

    @property
    def verdict(self) -> str:
        """Whether the figure, as it is shown, is at most the bar."""
        if round(self.figure, self.digits) <= self.most:
            return "reached"
        if self.figure <= self.most * (1 + self.noise):
            return f"MISSED, by less than the noise of {self.noise:.1%}"
        return "MISSED"

    def __str__(self) -> str:
        return f"{MARK}{self.what} | {self.figure:.{self.digits}f}{self.unit} | {self.most:g} | {self.verdict}"


def print_bars(bars: Iterable[Bar]) -> None:
    """Prints bars below the tables of a benchmark."""
    print()
    for bar in bars:
        print(bar)


def print_machine() -> None:
    """Prints a line of versions, and what computes."""
    card = f", {torch.cuda.get_device_name(0)}" if torch.cuda.is_available() else ""
    print(f"Python {platform.python_version()}, torch {torch.__version__}, {torch.get_num_threads()} threads{card}")
