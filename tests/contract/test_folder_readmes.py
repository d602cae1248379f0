"""READMEs of folders name every file beside them, and none that is not there; their links lead somewhere."""

import re
from pathlib import Path

import pytest

import situs

PACKAGE = Path(situs.__file__).parent
READMES = sorted(PACKAGE.rglob("README.md"))


COVERED = {"runtime": ("plan", "passes", "run", "abstract", "dynamic"), "tracing": ("",)}  # what each speaks of


def test_the_hard_parts_have_one():
    assert {page.parent.name for page in READMES} == COVERED.keys()


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.parent.name)
def test_a_readme_names_the_files_beside_it(page):
    named = set(re.findall(r"(?<![\w/])((?:\w+/)?\w+\.py)\b", page.read_text()))
    beside = [file for folder in COVERED[page.parent.name] for file in (page.parent / folder).glob("*.py")]
    assert named == {file.relative_to(page.parent).as_posix() for file in beside if file.name != "__init__.py"}
