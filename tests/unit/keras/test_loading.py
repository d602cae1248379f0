"""``tf.keras`` is Keras: when it is imported, what it leaves alone, and when a program is told that it is not there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def run(program: str, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    paths = [str(Path(__file__).parents[3]), *([str(folder)] if folder else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def output(program: str, folder: Path | None = None, **environment: str) -> str:
    found = run(program, folder, **environment)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_keras_is_imported_when_it_is_first_used() -> None:
    program = """
        import sys
        import situs as tf
        tf.constant(1) + 1
        print("keras" in sys.modules, "tensorflow" in sys.modules)
        layer = tf.keras.layers.Dense(2)
        print("keras" in sys.modules, type(layer).__module__.split(".")[0])
    """
    assert output(program).splitlines() == ["False False", "True keras"]


def test_the_namespaces_of_keras_are_one() -> None:
    program = """
        import situs as tf
        import situs.compat.v1 as tf1
        from situs.keras.layers import Dense
        from situs.keras.optimizers.schedules import CosineDecay
        import situs.losses
        import keras
        print(Dense is tf.keras.layers.Dense is tf1.keras.layers.Dense is keras.layers.Dense)
        print(tf.optimizers.Adam is keras.optimizers.Adam, tf.metrics.Mean is tf.keras.metrics.Mean)
        print(situs.losses.Huber is tf.losses.Huber, tf.initializers.Zeros is keras.initializers.Zeros)
        print(CosineDecay is keras.optimizers.schedules.CosineDecay)
    """
    assert set(output(program).split()) == {"True"}


def test_the_defaults_of_situs_stay() -> None:
    program = """
        import situs as tf
        before = tf.config.get_soft_device_placement(), tf.executing_eagerly(), tf.__version__
        tf.keras.layers.Dense(2)(tf.ones([1, 2]))
        print(before == (tf.config.get_soft_device_placement(), tf.executing_eagerly(), tf.__version__))
        import situs.compat.v1 as tf1
        print(tf1.add(1, 2).op.type)  # an import alone changes nothing: this dialect builds graphs
        print(int(tf.compat.v1.add(1, 2)))  # and this is the one that runs at once
    """
    assert output(program).split() == ["True", "AddV2", "3"]


def test_another_backend_in_the_environment_does_not_count() -> None:
    program = "import situs as tf; print(tf.keras.backend.backend())"
    assert output(program, KERAS_BACKEND="torch") == "tensorflow"


@pytest.mark.parametrize("name", ["tensorflow", "keras"])
def test_what_was_imported_before_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("")
    found = run(f"import {name}, situs\nsitus.keras", tmp_path)
    assert f"{name} has been imported already" in found.stderr


def test_a_tensorflow_beside_situs_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('this is not Situs')")
    found = run("import situs as tf\nprint(tf.keras.layers.Dense(2)(tf.ones([1, 2])).shape)", tmp_path)
    assert found.returncode == 0
    assert "TensorFlow is installed here too" in found.stderr


def test_programs_of_tensorflow_1_have_keras_too(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import numpy as np
        import tensorflow as tf

        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.layers.dense(x, 2)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.ones([8, 3]), np.ones([8, 1]), epochs=1, verbose=0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            print(session.run(y, {x: np.ones([4, 3])}).shape)
        print(model.predict(np.ones([4, 3]), verbose=0).shape)
        print(tf.__version__, [v.name for v in tf.global_variables()])
        """)
    )
    paths = {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-m", "situs", "run", "--dialect", "v1", str(program)]
    found = subprocess.run(command, env={**os.environ, **paths}, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == ["(4, 2)", "(4, 1)", "1.15.5 ['dense/kernel:0', 'dense/bias:0']"]


def test_keras_of_graphs_in_words() -> None:
    """Layers of Keras add to the graph of a session; their variables have values at once."""
    program = """
        import numpy as np
        import situs.compat.v1 as tf
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.keras.layers.Dense(2, kernel_initializer="ones")(x)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            print(session.run(y, {x: np.ones([1, 3])}).tolist())
    """
    assert output(program) == "[[3.0, 3.0]]"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("tf.losses.softmax_cross_entropy(a, b)", "v1"),
        ("tf.losses.MeanSquaredError()", "v2"),
        ("tf.metrics.mean_per_class_accuracy(a, b, 2)", "v1"),
        ("tf.keras.layers.Dense(2)", "v2"),
        ("tf.optimizers.Adam()", "v2"),
        ("tf.placeholder(tf.float32); tf.losses.mean_squared_error(a, b)", "v1"),
    ],
)
def test_the_dialect_is_told_without_loading_keras(line: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"import tensorflow as tf\n{line}\n")
    program = f"""
        import sys
        from situs._src.as_tensorflow.dialect import dialect_of
        print(dialect_of({str(tmp_path / "program.py")!r}), "keras" in sys.modules)
    """
    assert output(program) == f"{wanted} False"
