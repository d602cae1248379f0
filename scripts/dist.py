"""Builds the distributions, and tries them where nothing else is: ``python scripts/dist.py``, or ``make dist``.

    dist/situs-VERSION.tar.gz                  the source distribution
    dist/situs-VERSION-py3-none-any.whl        the wheel; its size is reported

For every Python that is found (``python3.11`` and newer, also of pyenv) there is a fresh environment, into which the
wheel is installed, and then the source distribution in its place. Each time the package is imported and the demo is run
from a folder that is not the checkout. With ``--build-only`` nothing is installed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
PROBE = (
    "import situs, sys; from pathlib import Path;"
    "assert Path(situs.__file__).is_relative_to(sys.prefix), situs.__file__;"
    "print(situs.__version__, float(situs.reduce_sum(situs.ones([2, 3]))))"
)


def build(target: Path, isolated: bool = True) -> list[Path]:
    """Builds both distributions into a folder; returns their paths.

    Args:
        target: The folder.
        isolated: Whether in an environment of its own, with what pyproject.toml asks for; else with what is installed.
    """
    with tempfile.TemporaryDirectory() as scratch:  # a build leaves folders behind where the sources are
        sources = Path(scratch) / "situs"
        for name in _sources():
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, sources / name)
        options = [] if isolated else ["--no-isolation"]
        command = [sys.executable, "-m", "build", "--outdir", str(target), *options, str(sources)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted([*target.glob("situs-*.tar.gz"), *target.glob("situs-*.whl")])


def _sources() -> list[str]:
    """The files of the project that are there: what git knows, and what it would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in found if (ROOT / name).is_file()]


def pythons() -> Iterator[Path]:
    """The interpreters that are there, one of each version that is supported."""
    homes = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    homes += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    seen = set()
    for home in homes:
        for path in sorted(home.glob("python3.*")):
            version = re.fullmatch(r"python3\.(\d+)", path.name)
            if version is None or (3, int(version[1])) < OLDEST or version[0] in seen:
                continue
            if subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0:
                seen.add(version[0])
                yield path


def attempt(python: Path, distributions: list[Path]) -> None:
    """Installs each distribution into a fresh environment, and runs it from elsewhere.

    Raises:
        CalledProcessError: something fails; what it printed has been shown.
    """
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([python, "-m", "venv", f"{scratch}/venv"], check=True, env=clean)
        inside = Path(scratch) / "venv" / "bin"
        for distribution in distributions:
            pip = [inside / "python", "-m", "pip", "-q", "--disable-pip-version-check"]
            subprocess.run([*pip, "uninstall", "-y", "situs"], check=True, env=clean, stderr=subprocess.DEVNULL)
            install = [*pip, "install", "-c", str(ROOT / "constraints.txt"), str(distribution)]
            subprocess.run(install, check=True, env=clean, cwd=scratch)
            said = subprocess.run(
                [inside / "python", "-c", PROBE], check=True, env=clean, cwd=scratch, stdout=subprocess.PIPE, text=True
            ).stdout.strip()
            subprocess.run([inside / "situs", "demo"], check=True, env=clean, cwd=scratch, stdout=subprocess.DEVNULL)
            print(f"{python.name}: {distribution.name}: imported ({said}), demo run", flush=True)


def main() -> None:
    """Builds, reports sizes, and tries the distributions on every Python."""
    parser = argparse.ArgumentParser(description="Builds the distributions of situs, and tries them.")
    parser.add_argument("--target", type=Path, default=ROOT / "dist", help="the folder to write to")
    parser.add_argument("--build-only", action="store_true", help="install nothing")
    parser.add_argument(
        "--python", type=Path, action="append", help="try this interpreter, instead of all that are there"
    )
    arguments = parser.parse_args()
    arguments.target = arguments.target.resolve()  # distributions are installed from elsewhere
    shutil.rmtree(arguments.target, ignore_errors=True)
    found = build(arguments.target)
    for path in found:
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)
    for python in [] if arguments.build_only else arguments.python or pythons():
        attempt(python, sorted(found, key=lambda path: path.suffix != ".whl"))


if __name__ == "__main__":
    main()
