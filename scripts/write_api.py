"""Writes the public modules of `situs` from what the engine says it exports: ``python scripts/write_api.py``.

    situs/_src/ops/nn/activation.py        @export("nn.relu") above ``def relu``
    situs/nn.py                            from situs._src.ops.nn.activation import relu as relu
    situs/compat/v1/nn.py                  the same, and functions there add to the default graph

`situs._src.base.export` shows how something says it. Here stand the namespaces: what each is for, which both styles
share, and which load their names when these are first used. Modules that are no longer needed are removed. What
functions say of themselves with ``differs=`` becomes a table in ``docs/coming-from-tensorflow.md``.

    python scripts/write_api.py --check    writes nothing; fails if a module or the table is not current
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ROOT / "situs" / "_src"
V1 = "compat.v1"
ANYTHING = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ..."
DIFFERENCES = ROOT / "docs" / "coming-from-tensorflow.md"
TABLE = ("<!-- Written by scripts/write_api.py from what exports say of themselves. -->\n", "<!-- Until here. -->\n")
MARK = "# Written by scripts/write_api.py: edit what the engine exports instead."

# What each namespace is for. Those of V1 are described below where they differ.
NAMESPACES = {
    "": "Situs: a tensor runtime whose subject is where computation happens.\n\n"
    "``import situs as tf``: ops run at once.",
    "audio": "sounds in files.",
    "autodiff": "derivatives along a direction, computed forwards.",
    "autograph": "plain Python control flow that becomes part of a graph when it depends on a tensor.",
    "autograph.experimental": "the mark for functions that are not to be converted, and options of loops.",
    "bitwise": "integers bit by bit.",
    "compat": "TensorFlow 1's style in ``tf.compat.v1``, and conversions of text.",
    "config": "the devices of this process, and how ops are placed on them.",
    "config.experimental": "older spellings of device settings, details of GPUs, policies, use of memory.",
    "config.gpu": "how much memory this process takes of every GPU; ``tf.gpu`` is another name for it.",
    "config.threading": "bounds on the threads of the CPU.",
    "config.optimizer": "whether graphs are compiled that have run a few times.",
    "data": "input pipelines.",
    "data.experimental": "bringing elements to devices, and names from before they were methods.",
    "debugging": "the placement log, and assertions about tensors.",
    "distribute": "one program over many devices.",
    "distribute.cluster_resolver": "who the tasks of a program are, and which of them this process is.",
    "distribute.experimental": "strategies and values that may still change.",
    "dtypes": "what the elements of tensors are, and casting.",
    "dtypes.experimental": "numbers of eight bits, which are kept and cast but not computed with.",
    "errors": "every error that Situs raises on purpose. `situs._src.base.errors` draws their tree.",
    "experimental": "what may still change.",
    "graph_util": "graphs as messages.",
    "experimental.numpy": "NumPy's functions on tensors, with NumPy's rules for dtypes.",
    "experimental.numpy.random": "random numbers as NumPy's older functions give them.",
    "experimental.dlpack": "tensors shared with other libraries without a copy.",
    "experimental.extension_type": "the fields of extension types.",
    "extend": "ops and kernels of your own. ``docs/extending.md`` shows how.",
    "feature_column": "how columns of a table become the inputs of a network.",
    "image": "what needs no image decoding.",
    "initializers": "``tf.keras.initializers``. Those of TensorFlow 1 are in ``tf.compat.v1.initializers``.",
    "io": "files, records, and strings of bytes as tensors.",
    "io.gfile": "files and folders.",
    "keras": "Keras itself, on Situs.",
    "linalg": "products, decompositions and solutions of linear systems.",
    "linalg.experimental": "solving by steps.",
    "lookup": "tables from keys to values.",
    "lookup.experimental": "tables that change.",
    "losses": "``tf.keras.losses``. Those of TensorFlow 1 are in ``tf.compat.v1.losses``.",
    "math": "element-wise arithmetic, reductions, and what is built of them.",
    "math.special": "special functions.",
    "memory": "how much memory each device holds, by what, over time; how much a graph will take, and swapping.",
    "metrics": "``tf.keras.metrics``. Those of TensorFlow 1 are in ``tf.compat.v1.metrics``.",
    "nest": "structures of lists, tuples, named tuples and dictionaries, and what stands in them.",
    "nn": "activations, convolutions, pooling, normalisation, losses.",
    "nn.experimental": "dropout with random numbers of your own.",
    "optimizers": "``tf.keras.optimizers``. Those of TensorFlow 1 are in ``tf.compat.v1.train``.",
    "placement": "plans of the dynamic placer, and what operations cost.",
    "profiler": "what a program spends its time on.",
    "profiler.experimental": "traces of a part of a program, for TensorBoard and Perfetto.",
    "python": "what programs import from below TensorFlow's public names.",
    "python.client": "the devices of this process, and traces of sessions.",
    "python.client.device_lib": "the devices of this process, with what is known of them.",
    "python.client.timeline": "traces of sessions for Chrome's viewer.",
    "queue": "queues.",
    "ragged": "rows of different lengths.",
    "raw_ops": "every op as a function of keywords, under TensorFlow's name for it.",
    "quantization": "numbers rounded to few bits.",
    "random": "random numbers with reproducible seeds.",
    "random.experimental": "generators under the name they had before.",
    "saved_model": "programs in files: objects with their variables and functions.",
    "saved_model.experimental": "objects around handles.",
    "sparse": "tensors that are zero but for some places.",
    "sets": "sets in the last dimension of tensors.",
    "signal": "sounds and other signals: Fourier transforms, frames, windows, features.",
    "strings": "strings, on the CPU.",
    "summary": "values for TensorBoard, written as they are made.",
    "summary.experimental": "the step of summaries that are given none, and the parts of other summaries.",
    "test": "questions that programs ask before they use a GPU, and what their tests are built from.",
    "torch": "where the parts of PyTorch's own modules go.",
    "types": "what values can be asked to be an instance of.",
    "types.experimental": "functions, their graphs, and what stands for a tensor.",
    "types.experimental.distributed": "values of which every replica has one.",
    "train": "optimizers, learning rates and averages, checkpoints, examples in records, coordinators.",
}
IN_V1 = {
    "": "TensorFlow 1's style: ``import situs.compat.v1 as tf``.\n\n"
    "Functions add to the default graph; `situs._src.v1.frontend` says how.",
    "app": "the beginning and the end of a program, which are absl's.",
    "contrib": "what of it programs use and has a plain equivalent in ``tf``.",
    "contrib.eager": "eager execution under the names it had before.",
    "contrib.framework": "scopes of arguments, variables and the global step.",
    "contrib.learn": "texts as numbers of words, and the digits of MNIST.",
    "contrib.layers": "layers as functions, with regularizers and initializers.",
    "contrib.legacy_seq2seq": "sequences to sequences, step by step.",
    "contrib.lookup": "tables between words and numbers.",
    "contrib.metrics": "metrics that are given the predictions first.",
    "contrib.rnn": "what became ``tf.nn.rnn_cell``.",
    "contrib.seq2seq": "the loss of sequences.",
    "contrib.slim": "layers with scopes of arguments.",
    "contrib.training": "hyper-parameters.",
    "contrib.util": "messages of tensors.",
    "nn.rnn_cell": "recurrent cells.",
    "distributions": "what samples come from, and how likely they are.",
    "flags": "options that a program takes on its command line, which are absl's.",
    "gfile": "the functions of ``tf.io.gfile`` under the names they had before.",
    "layers": "layers as functions, which make their variables in the variable scope around them.",
    "logging": "messages of the program, in one stream with those of Situs.",
    "manip": "rolling, tiling and the like under the names they had before.",
    "mixed_precision": "scaled losses.",
    "python_io": "records under the names they had before.",
    "resource_loader": "files beside the program.",
    "saved_model.builder": "what writes graphs and variables of sessions.",
    "saved_model.constants": "names of files and collections.",
    "saved_model.loader": "graphs and variables for sessions.",
    "saved_model.signature_constants": "names in signatures.",
    "saved_model.signature_def_utils": "signatures.",
    "saved_model.tag_constants": "names of tags.",
    "saved_model.utils": "tensors as messages.",
    "spectral": "the transforms of ``tf.signal`` under the names they had before.",
    "train.queue_runner": "threads that keep a queue full.",
}

# Namespaces of V1 that are the ones above, with all that is below them.
SHARED = (
    "config",
    "data.experimental",
    "distribute",
    "errors",
    "experimental",
    "extend",
    "io.gfile",
    "keras",
    "memory",
    "nest",
    "placement",
    "raw_ops",
    "test",
)
# Other names for a namespace.
ALIASES = {"gpu": "config.gpu", f"{V1}.app.flags": f"{V1}.flags"}
# Namespaces that are a module of the engine as it is.
WHOLE = {f"{V1}.flags": "situs._src.v1.flags"} | {
    f"{V1}.contrib.{name}": f"situs._src.v1.contrib.{name}"
    for name in (
        "eager",
        "framework",
        "layers",
        "learn",
        "legacy_seq2seq",
        "lookup",
        "metrics",
        "rnn",
        "seq2seq",
        "slim",
        "training",
        "util",
    )
}
# Namespaces that are modules of the package ``keras``.
OF_KERAS = {"keras": ""} | {name: name for name in ("initializers", "losses", "metrics", "optimizers")}
# Modules of the engine that are an attribute of a namespace.
ATTRIBUTES = {"extend.traits": "situs._src.ir.registry.traits"}
# Loaded name by name: what is in these is imported when it is first used, by this function of the engine.
LAZY = {
    "": ("situs._src.base.start", "attach"),
    "compat": ("situs._src.base.start", "attach_compat"),
    "raw_ops": ("situs._src.ops.by_keyword", "attach"),
    "test": ("situs._src.base.lazy", "attach"),
    V1: ("situs._src.v1.frontend", "attach"),
    f"{V1}.summary": ("situs._src.v1.frontend", "attach"),
}
# Importable, but not an attribute of the namespace above.
HIDDEN = ("python",)
# What a module has besides.
EXTRA = {
    f"{V1}.contrib": "from situs._src.v1.contrib import __getattr__ as __getattr__",
    "": "from situs._src.base.version import __version__ as __version__",
    f"{V1}.compat": "from situs._src.base.start import compat_v1_itself as __getattr__",
}


@dataclass
class Module:
    """A public module: its names, each with the module that it comes from and its name there."""

    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    spaces: set[str] = field(default_factory=set)


def declared() -> Iterator[tuple[str, str, str]]:
    """(public name, module of the engine, name there) of all that the engine exports."""
    for file in sorted(ENGINE.rglob("*.py")):
        path = file.relative_to(ROOT).with_suffix("")
        module = ".".join(path.parts[:-1] if path.name == "__init__" else path.parts)
        for node in ast.parse(file.read_text()).body:
            for name, public in _exported(node):
                yield public, module, name


def differences() -> dict[str, str]:
    """How names differ from TensorFlow's: what their exports say, by public name."""
    found = {}
    for file in sorted(ENGINE.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            for _, call in _calls(node):
                for keyword in call.keywords if isinstance(call, ast.Call) else ():
                    if keyword.arg == "differs":
                        found |= dict.fromkeys(_public_names(call), _text(keyword.value))
    return found


def differences_by_name() -> str:
    """The table of these differences; names that say the same share a row, and a V1 name is left to its namesake."""
    names: dict[str, list[str]] = defaultdict(list)
    found = differences()
    for name, text in found.items():
        if found.get(name.removeprefix(f"{V1}.")) != text or not name.startswith(f"{V1}."):
            names[text].append(f"`tf.{name}`")
    rows = sorted((", ".join(each), text.replace("|", "\\|")) for text, each in names.items())
    return "\n".join(["| name | in Situs |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows), ""])


def with_differences(page: str) -> str:
    """The page with today's table."""
    first, last = TABLE
    before, _, rest = page.partition(first)
    after = rest.partition(last)[2]
    if not rest or last not in rest:
        sys.exit(f"{DIFFERENCES.name} has no place for the table of differences: the lines {first}{last}")
    return f"{before}{first}\n{differences_by_name()}\n{last}{after}"


def _exported(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """(name, public name) of what a statement exports."""
    for name, call in _calls(node):
        yield from ((name, public) for public in _public_names(call))
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="export_all"), args=[ast.Constant(value=str(space)), *names])):
            for name in map(_text, names):
                yield from ((name, public) for public in _in_both_styles([f"{space}.{name}"]))


def _calls(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """What a statement calls on something that has a name, with that name: where `export` may stand."""
    match node:
        case ast.FunctionDef(name=name, decorator_list=calls) | ast.ClassDef(name=name, decorator_list=calls):
            yield from ((name, call) for call in calls)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=call))
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=call))
            | ast.Expr(value=ast.Call(func=ast.Call() as call, args=[ast.Name(id=name)]))
        ):
            yield name, call


def _public_names(call: ast.expr) -> list[str]:
    """The names that a call of `export` says; those of V1 have ``compat.v1.`` before them."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "export"):
        return []
    names = [_text(each) for each in call.args]
    older = next((keyword.value for keyword in call.keywords if keyword.arg == "v1"), None)
    if older is None:
        return _in_both_styles(names)
    return names + [f"{V1}.{_text(each)}" for each in (older.elts if isinstance(older, ast.Tuple) else [older])]


def _in_both_styles(names: list[str]) -> list[str]:
    return names + [f"{V1}.{name}" for name in names if not _is_within(name, (*SHARED, *HIDDEN, V1))]


def _is_within(name: str, spaces: tuple[str, ...]) -> bool:
    return any(name == space or name.startswith(f"{space}.") for space in spaces)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    sys.exit(f"Names that are exported stand as they are in the source, got {ast.unparse(node)}.")


def modules() -> dict[str, Module]:
    """The public modules by namespace."""
    found: dict[str, Module] = defaultdict(Module)
    for public, module, name in declared():
        space, _, last = public.rpartition(".")
        before = found[space].names.setdefault(last, (module, name))
        if before != (module, name):
            sys.exit(f"{public} is exported twice: {'.'.join(before)} and {module}.{name}.")
    for public, source in ATTRIBUTES.items():
        space, _, last = public.rpartition(".")
        found[space].names[last] = (source.rpartition(".")[0], source.rpartition(".")[2])
    for space in [*found, *WHOLE, *LAZY, *OF_KERAS]:
        found.setdefault(space, Module())
        while space:
            found[space.rpartition(".")[0]].spaces.add(space)
            space = space.rpartition(".")[0]
    for space in SHARED:
        found[f"{V1}.{space}".rpartition(".")[0]].spaces.add(space)
    for alias, space in ALIASES.items():
        found[alias.rpartition(".")[0]].spaces.add(space)
    return found


def written(space: str, module: Module) -> dict[str, str]:
    """The files of a namespace, by their paths below ``situs``."""
    below = [each for each in module.spaces if each.startswith(f"{space}." if space else "")]
    stem = f"{space.replace('.', '/')}/__init__".lstrip("/") if below else space.replace(".", "/")
    lines = [f"from {source} import {name} as {public}" for public, (source, name) in module.names.items()]
    for each in module.spaces:
        if each not in HIDDEN:
            above, _, last = each.rpartition(".")
            lines.append(f"from situs{'.' if above else ''}{above} import {last} as {last}")
    head = f'"""{_about(space)}"""\n\n{MARK}\n\n'
    extra = EXTRA.get(space, "")
    if space in WHOLE:
        refusing = f"from {WHOLE[space]} import __getattr__ as __getattr__\n" if ".contrib." in space else ""
        return {f"{stem}.py": f"{head}from {WHOLE[space]} import *\n{refusing}"}
    if space in OF_KERAS:
        return {
            f"{stem}.py": f"{head}from situs._src.as_tensorflow.load_keras import stand_in as _stand_in\n\n"
            f"_stand_in(__name__, {OF_KERAS[space]!r})\n",
            f"{stem}.pyi": f"{MARK}\n\n{ANYTHING}\n",
        }
    if space in LAZY:
        module_of, attach = LAZY[space]
        return {
            f"{stem}.py": f"{head}from {module_of} import {attach} as _attach\n{extra}\n\n"
            "__getattr__, __dir__, __all__ = _attach(__name__)\n",
            f"{stem}.pyi": f"{MARK}\n\n"
            + "\n".join([*lines, "" if space else "__version__: str"] if lines else [ANYTHING])
            + "\n",
        }
    body = "\n".join([*lines, extra])
    if _is_within(space, (V1,)):
        wrap = "from situs._src.v1.frontend import build_graphs as _build_graphs"
        body = f"{wrap}\n{body}\n\n_build_graphs(globals())"
    return {f"{stem}.py": f"{head}{body}\n"}


def _about(space: str) -> str:
    """The docstring of a namespace."""
    older = space == V1 or space.startswith(f"{V1}.")
    name = space[len(V1) :].lstrip(".") if older else space
    text = IN_V1.get(name) if older else NAMESPACES[name]
    if not name:
        return f"{text}\n"
    if text is None:
        return f"``tf.{name}`` of TensorFlow 1: functions add to the default graph."
    return f"``tf.{name}``: {text}"


def write(folder: Path) -> None:
    """Writes all public modules below a folder, and lays them out."""
    for space, module in modules().items():
        for path, text in written(space, module).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    config = ["--config", str(ROOT / "pyproject.toml")]
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "-q", "--no-cache", *config, str(folder)], check=False)


def public_files(folder: Path) -> dict[str, str]:
    """The files that this script has written below a folder."""
    found = (file for file in folder.rglob("*.py*") if file.suffix in (".py", ".pyi") and ENGINE not in file.parents)
    return {file.relative_to(folder).as_posix(): text for file in found if MARK in (text := file.read_text())}


def main() -> None:
    """Writes the modules, or says which are not current."""
    parser = argparse.ArgumentParser(description="Writes the public modules of situs from what the engine exports.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a module is not current")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "situs"
        write(folder)
        new, old = public_files(folder), public_files(ROOT / "situs")
    changed = sorted(path for path in new.keys() | old.keys() if new.get(path) != old.get(path))
    page = with_differences(DIFFERENCES.read_text())
    if page != DIFFERENCES.read_text():
        changed.append(DIFFERENCES.relative_to(ROOT).as_posix())
    if check:
        sys.exit(f"Not current: {', '.join(changed)}. Run python scripts/write_api.py." if changed else 0)
    for path in changed:
        if path == DIFFERENCES.relative_to(ROOT).as_posix():
            DIFFERENCES.write_text(page)
        elif path in new:
            (ROOT / "situs" / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / "situs" / path).write_text(new[path])
        else:
            (ROOT / "situs" / path).unlink()
        print(path)


if __name__ == "__main__":
    main()
