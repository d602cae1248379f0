"""Whether a program is written for TensorFlow 1 or 2: inferred from the names that it uses.

    tf.placeholder, tf.Session, tf.app.run      only TensorFlow 1 has them      v1
    tf.function, tf.keras, tf.GradientTape      TensorFlow 2 style              v2
    x.numpy()                                   tensors have values         v2
    tf.compat.v1.Session                        says itself what it is          v2, which has it
    import situs.compat.v1 as tf                written for Situs' own          v1, unless names of today say otherwise

Every name that exists in only one dialect counts for that dialect; names of both (`tf.add`) count for neither. Modules
next to the program that it imports are read as well. A program without any evidence counts as v2.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from situs._src.as_tensorflow.missing import parsed, read_source, used
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
        names = used(source)
        old += sum(map(_is_old, names)) + _imports_v1(parsed(source))
        today += sum(map(_is_of_today, names)) + _calls_of_numpy(parsed(source))
    return "v1" if old > today else "v2"


def imports_tensorflow(program: str) -> bool:
    """Whether a program, or a module beside it that it imports, imports TensorFlow or Keras by their own names.

    Args:
        program: The path of a Python file.
    """
    roots = ("tensorflow.", "keras.")
    return any(f"{name}.".startswith(roots) for source in _sources(Path(program)) for name in _imported(parsed(source)))


def _imports_v1(tree: ast.AST) -> bool:
    """Whether a program imports ``situs.compat.v1``, whose functions build graphs where it is run by itself."""
    return any(f"{name}.".startswith("situs.compat.v1.") for name in _imported(tree))


def _calls_of_numpy(tree: ast.AST) -> int:
    """How often a program asks for the value of a tensor, which has one in TensorFlow 2."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args and not node.keywords)
    return sum(isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" for call in calls)


def _imported(tree: ast.AST) -> Iterator[str]:
    """The full names of what a program imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_old(name: str) -> bool:
    if name.split(".")[0] in _OLD or (name.startswith("train.") and name.endswith("Optimizer")):
        return True
    return not _is_within("situs", name) and _is_within("situs.compat.v1", name)


def _is_of_today(name: str) -> bool:
    if any(name == sign or name.startswith(f"{sign}.") for sign in _TODAY):
        return True
    return not name.startswith("__") and _is_within("situs", name) and not _is_within("situs.compat.v1", name)


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
        try:
            source = read_source(path)
            tree = parsed(source)
        except (SyntaxError, OSError):  # Python says so when it runs the program
            continue
        yield source
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                below = program.parent.joinpath(*name.split("."))
                waiting += [below.with_suffix(".py"), below / "__init__.py"]
