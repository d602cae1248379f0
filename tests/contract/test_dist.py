"""What is published: the wheel and the source distribution have what they need, and nothing else."""

from __future__ import annotations

import importlib.util
import re
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import situs
from scripts import dist

pytest.importorskip("build", reason="distributions are built with a package of the extra 'dev'")

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The distributions, built with what is installed: no network is asked for anything."""
    source, wheel = sorted(dist.build(tmp_path_factory.mktemp("dist"), isolated=False), key=lambda path: path.suffix)
    return source, wheel


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(built[1]) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def metadata(wheel):
    (name,) = (name for name in wheel if name.endswith(".dist-info/METADATA"))
    return HeaderParser().parsestr(wheel[name].decode())


def test_the_wheel_is_for_every_machine_and_small(built):
    assert built[1].name == f"situs-{situs.__version__}-py3-none-any.whl"
    said = re.search(r"The wheel is (\d+\.\d) MB", (ROOT / "docs" / "questions.md").read_text())
    assert said is not None
    assert abs(built[1].stat().st_size / 1e6 - float(said[1])) < 0.2, "docs/questions.md says how large it is"


def test_the_metadata_says_what_it_is_and_needs(wheel):
    head = metadata(wheel)
    assert (head["Name"], head["Version"], head["License-Expression"]) == ("situs", situs.__version__, "Apache-2.0")
    assert head["Requires-Python"] == ">=3.11"
    assert head.get_all("License-File") == ["LICENSE", "NOTICE"]
    needed = [re.match(r"[\w-]+", line)[0] for line in head.get_all("Requires-Dist") if "extra ==" not in line]
    assert {"torch", "numpy", "keras"} <= set(needed)
    assert not {"pytest", "sphinx", "tensorflow"} & set(needed)


def test_the_wheel_has_the_package_with_its_types_and_sources_in_c_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in wheel}
    assert tops == {"situs", f"situs-{situs.__version__}.dist-info"}
    assert {"situs/py.typed", "situs/__init__.pyi", "situs/_src/placement/search/fast.c"} <= wheel.keys()
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / "situs").rglob("*.py")}
    assert ours <= wheel.keys()


def test_the_wheel_has_the_licence_and_the_notices_as_they_are(wheel):
    for name in ("LICENSE", "NOTICE"):
        (found,) = (each for each in wheel if each.endswith(f".dist-info/licenses/{name}"))
        assert wheel[found] == (ROOT / name).read_bytes()


def test_the_command_is_installed(wheel):
    (name,) = (name for name in wheel if name.endswith("entry_points.txt"))
    target = re.search(r"^situs = ([\w.]+):main$", wheel[name].decode(), re.MULTILINE)[1]
    assert importlib.util.find_spec(target)


def test_files_of_others_are_named_in_the_notices(wheel):
    """A file with a notice of its own belongs to somebody else."""
    notices = (ROOT / "NOTICE").read_text()
    marked = [
        name
        for name, content in wheel.items()
        if name.startswith("situs/") and re.search(rb"Copyright (\(c\)|\d{4}|\xc2\xa9)|@license|SPDX-License", content)
    ]
    assert [name for name in marked if name not in notices] == []


def test_every_file_in_a_folder_of_others_is_in_the_notices_and_in_the_wheel(wheel):
    notices = (ROOT / "NOTICE").read_text()
    others = [path.relative_to(ROOT).as_posix() for path in (ROOT / "situs").rglob("vendor/*") if path.is_file()]
    assert others
    assert [name for name in others if name not in notices or name not in wheel] == []


def test_the_source_distribution_has_what_its_tests_and_site_need(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in ("Makefile", "NOTICE", "tests/conftest.py", "docs/questions.md", "scripts/build_site/__main__.py"):
        assert wanted in names
    assert not [name for name in names if name.endswith(".pyc") or name.startswith((".venv", "build/"))]


def test_a_python_that_is_there_is_found():
    assert all(re.fullmatch(r"python3\.\d+", path.name) for path in dist.pythons())
