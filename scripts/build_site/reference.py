"""The API reference: a page for each namespace of both dialects, written from the code.

    reference/index.rst          how many names each namespace has, and how they compare with TensorFlow's
    reference/tf.nn.rst          tf.nn: a table of its names, then each with its signature and its docstring
    reference/v1/tf.nn.rst       the same of ``situs.compat.v1``
    reference/absent.rst         what TensorFlow has and Situs has not

A function that is public under several names is described once, under the first; the other names lead to it. The pages
of namespaces are reached from the index, not from the table of contents beside every page, which would have a hundred
more lines on each.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import situs
import situs.compat.v1
from scripts import write_api
from scripts.build_site import restructured
from scripts.build_site.comparison import V1, Comparison, Verdict
from situs._src.base import absent

NAMES = write_api.ROOT / "tests" / "contract" / "public_names.txt"
KERAS = tuple(write_api.OF_KERAS)


@dataclass(frozen=True)
class Entry:
    """A public name.

    Attributes:
        name: The name below ``situs``.
        value: What it is.
        home: The name under which it is described.
        verdict: How it compares with TensorFlow's.
    """

    name: str
    value: object
    home: str
    verdict: Verdict

    @property
    def space(self) -> str:
        """The namespace it is in."""
        return self.name.rpartition(".")[0]

    @property
    def link(self) -> str:
        """A reference to where it is described, shown as this name."""
        shown = "tf." + self.name.removeprefix(f"{V1}.")
        return f":py:obj:`{shown} <tf.{self.home}>`"


def entries(comparison: Comparison) -> list[Entry]:
    """All public names that are not namespaces."""
    found = []
    homes = _homes()
    for name in _names():
        value: object = situs
        for part in name.split("."):
            value = getattr(value, part)
        if not isinstance(value, ModuleType):
            found.append(Entry(name, value, homes.get(name, name), comparison.verdict(name, value)))
    return found


def write(folder: Path) -> None:
    """Writes the pages below a folder."""
    comparison = Comparison()
    found = entries(comparison)
    spaces: dict[str, list[Entry]] = defaultdict(list)
    for entry in found:
        spaces[entry.space].append(entry)
    (folder / "v1").mkdir(parents=True)
    for space, here in spaces.items():
        (folder / f"{_file(space)}.rst").write_text("\n".join(_page(space, here)))
    (folder / "index.rst").write_text("\n".join(_index(spaces, comparison.version)))
    (folder / "absent.rst").write_text("\n".join(_absent(comparison.absent({entry.name for entry in found}))))


def _names() -> Iterator[str]:
    """The public names, with those that the pinned list leaves out: errors and the raw ops."""
    yield from NAMES.read_text().split()
    for space in ("errors", "raw_ops"):
        module = getattr(situs, space)
        yield from (f"{space}.{name}" for name in dir(module) if not name.startswith("_") and name != "annotations")


def _homes() -> dict[str, str]:
    """The name under which each exported name is described: the first of its function, in ``tf`` if it is there."""
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for public, module, name in write_api.declared():
        names[module, name].append(public)
    homes = {
        each: next((n for n in group if not n.startswith(V1)), group[0]) for group in names.values() for each in group
    }
    homes |= {
        f"{alias}.{name}": f"{space}.{name}" for alias, space in write_api.ALIASES.items() for name in _within(space)
    }
    shared = {f"{V1}.{name}": home for name, home in homes.items() if f"{V1}.{name}" not in homes}
    return homes | shared


def _within(space: str) -> list[str]:
    """The names of a namespace that has another name too."""
    return [name.rpartition(".")[2] for name in NAMES.read_text().split() if name.rpartition(".")[0] == space]


def _file(space: str) -> str:
    """The page of a namespace, below the folder of the reference."""
    if space == V1 or space.startswith(f"{V1}."):
        return f"v1/{_title(space)}"
    return _title(space)


def _title(space: str) -> str:
    return ".".join(
        part for part in ("tf", space.removeprefix(V1).lstrip(".") if space.startswith(V1) else space) if part
    )


def _page(space: str, here: list[Entry]) -> Iterator[str]:
    """The page of a namespace."""
    older = _file(space).startswith("v1/")
    title = _title(space) + (" (TensorFlow 1)" if older else "")
    module: object = situs
    for part in space.split(".") if space else ():
        module = getattr(module, part)
    yield from (":orphan:", "", f":doc:`API reference <{'../' if older else ''}index>`", "")
    yield from (title, "=" * len(title), "")
    yield from restructured.body(module.__doc__)
    yield from _table([(entry.link, entry.verdict, _about(entry)) for entry in here])
    for entry in here:
        if entry.home == entry.name:
            yield from _described(entry)


def _about(entry: Entry) -> str:
    """What stands in the table beside a name."""
    value = entry.value
    documented = inspect.isroutine(value) or inspect.isclass(value)
    return restructured.summary(value.__doc__) if documented else restructured.inline(f"`{_shown(value)}`")


def _table(rows: list[tuple[str, Verdict, str]]) -> Iterator[str]:
    yield from (".. list-table::", "    :header-rows: 1", "    :widths: 30 15 55", "")
    yield from ("    * - name", "      - TensorFlow", "      - ")
    for link, verdict, about in rows:
        mark = {"same": "the same", "differs": "differs", "own": "not there"}[verdict.kind]
        yield from (f"    * - {link}", f"      - {mark}", f"      - {about}")
    yield ""


def _described(entry: Entry) -> Iterator[str]:
    """A name with its signature, its docstring and how it compares."""
    value, name = entry.value, f"tf.{entry.name}"
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    yield from (f".. py:{kind}:: {name}{_signature(value) if kind != 'data' else ''}", "")
    lines = [f"*TensorFlow:* {restructured.inline(str(entry.verdict))}", ""]
    if kind == "data":
        lines += [f"``{_shown(value)}``", ""]
    else:
        lines += restructured.body(value.__doc__)
    if inspect.isclass(value):
        lines += _members(value)
    yield from (f"    {line}".rstrip() for line in lines)
    yield ""


def _members(kind: type) -> list[str]:
    """The methods and properties that a class of the engine documents, with a sentence for each."""
    rows = []
    for name, member in inspect.getmembers_static(kind):
        function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        function = function.fget if isinstance(function, property) else function
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        if function.__module__.startswith("situs."):
            call = (
                "" if isinstance(member, property) else _signature(function, bound=not isinstance(member, staticmethod))
            )
            rows.append(f"- ``{name}{call}``: {restructured.summary(function.__doc__)}")
    return [*rows, ""] if rows else []


def _signature(value: object, bound: bool = False) -> str:
    """Its parameters with their defaults, without their types; ``(...)`` where nobody knows them."""
    try:
        found = list(inspect.signature(value).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(*args, **kwargs)"
    plain = [
        each.replace(
            annotation=each.empty, default=_Default(each.default) if each.default is not each.empty else each.empty
        )
        for each in found[1 if bound else 0 :]
    ]
    return str(inspect.Signature(plain))


class _Default:
    """A default as it is shown: short, and the same in every process."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return _shown(self._value) if isinstance(self._value, (bool, int, float, str, tuple, type(None))) else "..."


def _shown(value: object) -> str:
    """A value in a few characters, without addresses of memory."""
    text = " ".join(repr(value).split())
    return type(value).__name__ if " at 0x" in text or len(text) > 60 or "`" in text else text.replace("\\", "")


def _index(spaces: dict[str, list[Entry]], version: str) -> Iterator[str]:
    """The first page: namespaces with their counts."""
    title = "API reference"
    yield from (title, "=" * len(title), "")
    yield restructured.inline(
        "Every public name of both dialects, written from the code, and how it compares with the name of "
        f"{version}: *the same*, *differs* (the entry says how), or *not there* in TensorFlow."
    ).replace("\\*", "*")
    yield from ("", ":doc:`absent` lists what TensorFlow has and Situs has not.", "")
    yield from (
        "`tf.keras`, and `tf.initializers`, `tf.losses`, `tf.metrics` and `tf.optimizers`, are".replace("`", "``"),
    )
    yield from ("`Keras <https://keras.io/api>`_ itself, which documents them.", "")
    for older, head in ((False, "import situs as tf"), (True, "import situs.compat.v1 as tf")):
        chosen = sorted(space for space in spaces if _file(space).startswith("v1/") == older)
        yield from (head, "-" * len(head), "")
        yield from (".. list-table::", "    :header-rows: 1", "")
        yield from (
            "    * - namespace",
            "      - names",
            "      - the same",
            "      - differ",
            "      - not in TensorFlow",
        )
        for space in chosen:
            kinds = [entry.verdict.kind for entry in spaces[space]]
            yield f"    * - :doc:`{_title(space)} <{_file(space)}>`"
            yield from (f"      - {count}" for count in (len(kinds), *map(kinds.count, ("same", "differs", "own"))))
        yield ""
    yield from (".. toctree::", "    :hidden:", "", "    absent", "")


def _absent(missing: list[str]) -> Iterator[str]:
    """The page of what is not there, by dialect and namespace."""
    title = "What TensorFlow has and Situs has not"
    yield from (title, "=" * len(title), "")
    yield restructured.inline(
        "These names are absent: asking for one is an AttributeError, and a program that uses some is told which "
        "by `situs run --missing FILE`. Names of Keras are not compared: `tf.keras` is Keras itself."
    )
    for older, head in ((False, "import situs as tf"), (True, "import situs.compat.v1 as tf")):
        groups: dict[str, list[str]] = defaultdict(list)
        for name in missing:
            plain = name.removeprefix(f"{V1}.")
            if name.startswith(f"{V1}.") == older and not (plain.split(".")[0] in KERAS and not older):
                groups[plain.rpartition(".")[0]].append(plain)
        yield from ("", head, "-" * len(head), "")
        for space, here in sorted(groups.items()):
            hint = absent.hint(space.split(".")[0]).lstrip(". ")
            shown = ", ".join(f"``{name.rpartition('.')[2]}``" for name in here)
            about = f" {restructured.inline(hint)}." if hint else ""
            yield from (f"**{_title(space)}** ({len(here)}).{about}", "", shown, "")
