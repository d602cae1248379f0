"""Models of Keras in files (``.keras``, ``.h5``, weights): damaged, and loaded by Keras and by ``situs place``.

Loading is Keras' own code, so any error of Keras', h5py's or the archive's is a refusal there; a hang, a crash, memory,
and a file that appears outside are findings as everywhere. ``situs place`` says all of it in one line. Archives are
made with intent, too: names that lead out of the folder, members that unpack to gigabytes, the same name twice; and so
are configurations: classes of other modules, functions by name, code.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import situs as tf
from situs._src.cli.main import main
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes, mutated_data
from tests.fuzz.targets.checkpoints import _eagerly

MARK = "fuzz-was-here"  # a file that code in a model would write
CODE = [
    {"class_name": "function", "module": "os", "config": "system", "registered_name": "system"},
    {"class_name": "Lambda", "module": "keras.layers", "config": {"function": f"lambda x: open({MARK!r}, 'w')"}},
    {"class_name": "__lambda__", "config": {"value": f"lambda x: open({MARK!r}, 'w')"}},
    {"class_name": "Popen", "module": "subprocess", "config": {"args": ["touch", MARK]}, "registered_name": None},
    {"class_name": "Path", "module": "pathlib", "config": {"args": [MARK]}, "registered_name": "touch"},
]
BOMB = 3 * 2**30  # bytes that a member says, or unpacks, to


class KerasFiles:
    """Cases of models in files."""

    def __init__(self, folder: Path) -> None:
        with _eagerly():
            keras = tf.keras
            inputs = keras.Input([4], name="x")
            hidden = keras.layers.Dense(3, activation="relu")(inputs)
            model = keras.Model(inputs, keras.layers.BatchNormalization()(hidden))
            model.compile("adam", "mse")
            for name in ("model.keras", "model.h5", "model.weights.h5"):
                (model.save_weights if "weights" in name else model.save)(str(folder / name))
        self._files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        with zipfile.ZipFile(folder / "model.keras") as archive:
            self._members = {name: archive.read(name) for name in archive.namelist()}

    def case(self, random: Random) -> Case:
        """A file that is damaged, or an archive that is made with intent."""
        name = random.choice(sorted(self._files))
        how = "damaged"
        if name.endswith(".keras") and random.random() < 0.7:
            how, content = self._archive(random)
        else:
            content = mutated_bytes(random, self._files[name], list(self._files.values()))
        read = weights if "weights" in name else random.choice((model, placed))
        return Case(f"{read.__name__} of {name}, {how}: {content[:1000]!a}", lambda: self._read(read, name, content))

    def _archive(self, random: Random) -> tuple[str, bytes]:
        """A ``.keras`` file with one member changed, and what was done."""
        members = dict(self._members)
        how = random.choice(("config", "config", "config", "code", "weights", "outside", "bomb", "twice", "absent"))
        if how == "config":
            name = random.choice(["config.json", "config.json", "metadata.json"])
            members[name] = json.dumps(mutated_data(random, json.loads(members[name]))).encode()
        elif how == "code":
            config = json.loads(members["config.json"])
            layers = config["config"]["layers"]
            place = random.choice((random.choice(layers)["config"], config, config["config"]))
            place[random.choice(sorted(place))] = random.choice(CODE)
            members["config.json"] = json.dumps(config).encode()
        elif how == "weights":
            members["model.weights.h5"] = mutated_bytes(random, members["model.weights.h5"], [])
        elif how == "absent":
            del members[random.choice(sorted(members))]
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
            if how == "outside":
                archive.writestr(random.choice((f"../{MARK}", f"/tmp/{MARK}", f"assets/../../{MARK}")), b"outside")
            elif how == "bomb":
                archive.writestr("assets/zeros", bytes(2**26))
            elif how == "twice":
                with warnings.catch_warnings(action="ignore"):
                    archive.writestr("config.json", random.choice((b"{}", members["metadata.json"])))
        content = made.getvalue()
        if how == "bomb":  # the sizes in the directory lie
            honest = (2**26).to_bytes(4, "little")
            content = content.replace(honest, (BOMB & 0xFFFFFFFF).to_bytes(4, "little"))
        return how, content

    def _read(self, read: Callable[[str], None], name: str, content: bytes) -> None:
        Path("given").mkdir(exist_ok=True)
        path = Path("given") / name
        path.write_bytes(content)
        try:
            read(str(path))
        finally:
            written = [place for place in (Path(MARK), Path("given") / MARK, Path("/tmp") / MARK) if place.exists()]
            require(not written, f"the model wrote {written}")
            require(path.read_bytes() == content, "reading a model changed it")


def _by_keras(read: Callable[[], Any]) -> None:
    """Reads, and takes any error of Keras' code, h5py's and the archive's for a refusal."""
    with _eagerly():
        try:
            read()
        except MemoryError:
            raise
        except Exception as error:
            trace, files = error.__traceback__, list[str]()
            while trace is not None:
                files.append(trace.tb_frame.f_code.co_filename)
                trace = trace.tb_next
            if not any(f"/{package}/" in file for file in files for package in ("keras", "h5py")):
                raise
            raise tf.errors.InvalidArgumentError(None, None, f"Keras: {type(error).__name__}") from None


def model(path: str) -> None:
    """Loads a model, and calls it."""
    _by_keras(lambda: tf.keras.models.load_model(path))


def weights(path: str) -> None:
    """Loads weights into a model."""

    def read() -> None:
        inputs = tf.keras.Input([4])
        hidden = tf.keras.layers.Dense(3)(inputs)
        tf.keras.Model(inputs, tf.keras.layers.BatchNormalization()(hidden)).load_weights(path)

    _by_keras(read)


def placed(path: str) -> None:
    """Gives the file to ``situs place``."""
    require(main(["place", path, "--budget", "0.02"]) in (0, 1, 3), "the exit status")
