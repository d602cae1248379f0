"""Command lines: every command of ``situs``, and what is written like them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import situs
from situs._src.cli.main import main
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import PIECES, mutated_text

LINES = [
    *(["devices"], ["devices", "--json"], ["demo"], ["--version"], ["--help"], ["memory", "--help"], []),
    *(
        ["memory", "program.py"],
        ["memory", "-o", "out.svg", "program.py", "3"],
        ["memory", "-o", "o.json", "broken.py"],
    ),
    *(["memory", "-o", "page.html", "program.py"], ["memory", "absent.py"], ["memory", "leaves.py", "--", "-o"]),
    *(["memory", "noise.py"], ["run", "program.py"], ["run", "--missing", "o.json", "broken.py"], ["run", "absent.py"]),
    *(["report", "noise.py", "--out", "x.html"], ["report", "--workers", "o.json", "--out", "x.trace.json"]),
    *(["place", "noise.py"], ["place", "data", "--from", "o.json"], ["profile", "absent.py"], ["completion", "bash"]),
    *(["launch", "-n", "0", "absent.py"], ["run", "--report", "page.html", "program.py"]),
]
WORDS = sorted({word for line in LINES for word in line} | {"-h", "-j", "--output", "--output=x.svg", "data", ".", "-"})
PROGRAM = "import sys, situs\nsitus.constant([1.0] * 3) + 1\nprint(sys.argv)\n"


class Commands:
    """Cases of command lines, run in this process."""

    def __init__(self, folder: Path) -> None:
        situs.constant(1.0)  # loads PyTorch, which takes longer than a case may
        tempfile.tempdir = str(folder)  # the demonstration leaves its page there
        (folder / "program.py").write_text(PROGRAM)
        (folder / "broken.py").write_text("import situs\nsitus.reshape([1], [2])\n")
        (folder / "leaves.py").write_text("import sys\nsys.exit(2)\n")
        (folder / "noise.py").write_bytes(bytes(range(256)))
        (folder / "data").mkdir()

    def case(self, random: Random) -> Case:
        """A line with words changed, added, or left out."""
        words = list(random.choice(LINES))
        for _ in range(random.randint(0, 3)):
            place = random.randint(0, len(words))
            words[place : place + random.randint(0, 1)] = [_word(random)]
        words = [word for word in words if ".." not in word and not word.startswith("/")]  # what is written stays here
        return Case(f"situs {words!a}", lambda: require(main(words) in (0, 1, 2, 3, 130), "the exit status"))


def _word(random: Random) -> str:
    word = random.choice(WORDS)
    return word if random.random() < 0.4 else random.choice((mutated_text(random, word, WORDS), random.choice(PIECES)))
