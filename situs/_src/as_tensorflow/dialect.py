"""Whether a program is written for TensorFlow 1 or 2: told from the names that it uses.

    tf.placeholder, tf.Session, tf.app.run      only TensorFlow 1 has them      v1
    tf.function, tf.keras, tf.GradientTape      TensorFlow 2 style              v2
    tf.compat.v1.Session                        says itself what it is          v2, which has it

Every name that exists in one dialect alone counts for that dialect; names of both (`tf.add`) count for neither. The
modules beside the program that it imports are read as well. A program without any evidence is one of today: v2.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from situs._src.as_tensorflow.missing import used
from situs._src.as_tensorflow.roots import OF_KERAS
from situs._src.base.lazy import read_stub

# In both dialects by name, but a sign of programs of TensorFlow 2.
_TODAY = ("function", "GradientTape", "keras", "data.AUTOTUNE", "config", "compat")
# Namespaces of TensorFlow 1 alone, whether or not Situs has all of them; so are the optimizers of tf.train, which Situs
# has in both.
_OLD = ("app", "contrib", "estimator", "flags", "gfile", "layers", "logging", "python_io")


def dialect_of(program: str) -> str:
    """``v1`` or ``v2``.

    Args:
        program: The path of a Python file.
    """
    old = today = 0
    for source in _sources(Path(program)):
        try:
            names = used(source)
        except SyntaxError:  # Python says so when it runs the program
            continue
        old += sum(map(_is_old, names))
        today += sum(map(_is_of_today, names))
    return "v1" if old > today else "v2"


def _is_old(name: str) -> bool:
    if name.split(".")[0] in _OLD or (name.startswith("train.") and name.endswith("Optimizer")):
        return True
    return not _is_within("situs", name) and _is_within("situs.compat.v1", name)


def _is_of_today(name: str) -> bool:
    if any(name == sign or name.startswith(f"{sign}.") for sign in _TODAY):
        return True
    return _is_within("situs", name) and not _is_within("situs.compat.v1", name)


def _is_within(module: str, name: str) -> bool:
    """Whether a public module has a name, as far as stubs and modules tell; nothing but names is loaded."""
    first, *rest = name.split(".")
    if first == "keras":
        return True
    if module == "situs" and first in OF_KERAS:  # which would take TensorFlow's name, were it loaded
        return not rest or rest[0] in _names_of_keras(first)
    value: object = importlib.import_module(module)  # what the program will need anyway
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


@cache
def _names_of_keras(space: str) -> frozenset[str]:
    """The names of one of Keras' public modules, read in its source."""
    found = importlib.util.find_spec("keras")
    if found is None or found.origin is None:
        return frozenset()
    source = Path(found.origin).parent / "_tf_keras" / "keras" / space / "__init__.py"
    return frozenset(read_stub(source)) if source.is_file() else frozenset()


def _sources(program: Path) -> Iterator[str]:
    """The source of a program, and of the modules beside it that it imports, directly or not."""
    seen: set[Path] = set()
    waiting = [program]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file() or len(seen) > 100:
            continue
        seen.add(path)
        source = path.read_text(encoding="utf8", errors="replace")
        yield source
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                below = program.parent.joinpath(*name.split("."))
                waiting += [below.with_suffix(".py"), below / "__init__.py"]
