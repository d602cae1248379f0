"""`scripts/size` counts lines of code, in a package whose engine lies in ``_src`` too."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "size"

SOURCE = '''"""What it is for.

Two lines."""

# a remark
import math  # another


class A:
    """A class."""

    def f(self):
        """A function."""
        text = """one

        three"""
        return [
            text,  # a line of code

        ]
'''
LINES = 9  # import, class, def, text (3: the blank one is inside of the string), return, its item, the bracket


def sizes(*arguments: object) -> dict[str, list[int]]:
    done = subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return {row[0]: [int(row[1]), int(row[2])] for row in rows}


def test_lines_of_code_are_counted_by_part(tmp_path):
    for name in ("__init__.py", "nn.py", "keras/a.py", "_src/tree.py", "_src/ops/a.py", "_src/ops/deep/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(SOURCE)
    (tmp_path / "empty.pyi").write_text('"""Nothing."""\n')
    (tmp_path / "notes.pyc").write_bytes(b"\xff")
    assert sizes(tmp_path) == {
        "(files)": [3, 2 * LINES],
        "keras": [1, LINES],
        "_src/(files)": [1, LINES],
        "_src/ops": [2, 2 * LINES],
        "all": [7, 6 * LINES],
    }


def test_situs_is_counted():
    found = sizes()
    assert found["all"][0] > 300
    assert found.pop("all") == [sum(files for files, _ in found.values()), sum(lines for _, lines in found.values())]


def test_a_folder_without_code_is_an_error(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"There are no Python files in {tmp_path}.\n")
