"""The version and the changelog agree."""

from __future__ import annotations

import re
from pathlib import Path

import situs

CHANGELOG = (Path(__file__).parent.parent.parent / "CHANGELOG.md").read_text()


def test_the_changelog_has_the_version_or_an_unreleased_head_for_it():
    heads = re.findall(r"^## (\S+)", CHANGELOG, re.MULTILINE)
    assert heads[0] == "Unreleased"
    if ".dev" not in situs.__version__:
        assert heads[1] == situs.__version__
        assert re.search(r"^## Unreleased\s+## ", CHANGELOG, re.MULTILINE), "what is released stands below its version"
