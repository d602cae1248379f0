"""``tensorflow`` by Situs: modules, dialects, the command ``situs run``, and what is said of missing names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from situs._src.as_tensorflow.dialect import dialect_of
from situs._src.as_tensorflow.missing import used
from tests.conftest import STUCK

V1 = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 2])
y = tf.reduce_sum(x)
with tf.Session() as session:
    print(session.run(y, {x: [[1.0, 2.0]]}), tf.__version__)
"""
V2 = """
import tensorflow as tf
@tf.function
def double(x):
    return x + x
print(double(2.0).numpy(), tf.__version__)
"""


def situs_run(tmp_path: Path, program: str, *options: str, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
    path = tmp_path / "program.py"
    path.write_text(program)
    command = [sys.executable, "-m", "situs", "run", *options, str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK, cwd=tmp_path, check=False)
    return done.returncode, done.stdout, done.stderr


# Running programs.


def test_a_program_of_each_dialect_runs_as_it_is(tmp_path):
    assert situs_run(tmp_path, V1)[:2] == (0, "3.0 1.15.5\n")
    assert situs_run(tmp_path, V2)[:2] == (0, "4.0 2.21.0\n")


def test_the_program_gets_its_arguments_and_its_status_counts(tmp_path):
    program = "import sys\nprint(sys.argv[1:], __name__)\nsys.exit(3)"
    assert situs_run(tmp_path, program, arguments=("--steps", "2"))[:2] == (3, "['--steps', '2'] __main__\n")


def test_what_runs_at_the_end_finds_the_error_as_python_leaves_it(tmp_path):
    program = "import atexit, sys\natexit.register(lambda: print(repr(sys.last_value), sys.last_type))\n1 / 0"
    status, printed, _ = situs_run(tmp_path, program)
    assert (status, printed) == (1, "ZeroDivisionError('division by zero') <class 'ZeroDivisionError'>\n")


def test_a_module_is_run_as_python_does(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "train.py").write_text(V2)
    command = [sys.executable, "-m", "situs", "run", "-m", "package.train"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "4.0 2.21.0\n"), done.stderr


def test_programs_beside_each_other_import_each_other(tmp_path):
    (tmp_path / "model.py").write_text("import tensorflow as tf\ndef out(x): return tf.layers.flatten(x)\n")
    program = "import model, tensorflow\nprint(model.out(tensorflow.ones([2, 3, 4])).shape)"
    assert situs_run(tmp_path, program)[:2] == (0, "(2, 12)\n")  # the dialect is told from model.py


def test_a_program_that_reads_values_is_of_tensorflow_2(tmp_path):
    """A name that went away, in a branch of a program that does not use it any more, is no sign against that."""
    program = "import tensorflow as tf\nold = tf.placeholder if tf.__version__ < '2' else None\n"
    (tmp_path / "old.py").write_text(program)
    assert dialect_of(str(tmp_path / "old.py")) == "v1"
    program += "print(tf.constant(1).numpy(), tf.add(1, 1).numpy())\n"
    assert situs_run(tmp_path, program)[:2] == (0, "1 2\n")


def test_what_there_is_not_is_an_error_of_the_command(tmp_path):
    for given, status in ((["no_such_file.py"], 1), (["-m", "no_such_module"], 1), ([], 2)):
        command = [sys.executable, "-m", "situs", "run", *given]
        done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK, cwd=tmp_path, check=False)
        assert done.returncode == status
        assert done.stderr.startswith("situs: ")
        assert "Traceback" not in done.stderr


# What the modules are.


def test_modules_below_are_those_of_situs(run_python):
    out = run_python(
        "import situs; situs.install_as_tensorflow(replace=True)\n"
        "import tensorflow as tf, tensorflow.nn, tensorflow.compat.v1 as v1\n"
        "from tensorflow.data import Dataset\n"
        "from tensorflow.python.framework import ops\n"
        "from tensorflow.python.ops import math_ops, array_ops\n"
        "from tensorflow.core.protobuf import config_pb2\n"
        "from tensorflow.core.example import example_pb2\n"
        "print(tf.nn is situs.nn, Dataset is situs.data.Dataset, tf.matmul is situs.matmul)\n"
        "print(ops.Tensor is situs.Tensor, math_ops.add(1, 2).numpy(), array_ops.reshape([1, 2], [2, 1]).shape)\n"
        "print(config_pb2.ConfigProto is v1.ConfigProto, example_pb2.Example is tf.train.Example)\n"
        "print(tf.compat.v1 is v1, tf.compat.as_text(b'x'), tf.version.VERSION, 'matmul' in dir(tf))\n"
    )
    assert out.splitlines() == ["True True True", "True 3 (2, 1)", "True True", "True x 2.21.0 True"]


def test_what_programs_import_from_the_inside(run_python):
    """Helpers that are public nowhere, and modules inside of the parts of tf.contrib."""
    found = run_python(
        "import situs; situs.install_as_tensorflow('v1')\n"
        "import tensorflow as tf\n"
        "from tensorflow.contrib.layers.python.layers import batch_norm, utils\n"
        "from tensorflow.contrib.layers.python import layers as inner\n"
        "from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _linear\n"
        "from tensorflow.python.framework import smart_cond, tensor_shape\n"
        "from tensorflow.python.layers import utils as others\n"
        "from tensorflow.python.ops import gen_math_ops, gen_nn_ops, lookup_ops\n"
        "from tensorflow.python.training.moving_averages import assign_moving_average\n"
        "assert batch_norm is inner.batch_norm is tf.contrib.layers.batch_norm\n"
        "assert utils.smart_cond(True, lambda: 1, lambda: 2) == others.smart_cond(1, lambda: 1, lambda: 2) == 1\n"
        "assert others.constant_value(tf.constant(False)) is False\n"
        "assert others.conv_output_length(9, 3, 'same', 2) == 5\n"
        "print(tensor_shape.scalar(), tensor_shape.matrix(2, None), tensor_shape.unknown_shape(rank=1))\n"
        "y = _linear([tf.ones([2, 3]), tf.ones([2, 1])], 5, True, kernel_initializer=tf.ones_initializer())\n"
        "chosen = smart_cond.smart_cond(tf.placeholder_with_default(True, []), lambda: y[0, 0], lambda: 2.0)\n"
        "four = gen_math_ops.mul(gen_nn_ops._relu([[-1.0, 2.0]]), y=[[2.0, 2.0]], name='four')\n"
        "assert four.op.name == 'four' and four.op.type == 'Mul'\n"
        "table = lookup_ops.index_table_from_tensor(tf.constant(['a', 'b']), default_value=-1)\n"
        "with tf.Session() as session:\n"
        "    session.run([tf.global_variables_initializer(), tf.tables_initializer()])\n"
        "    print(session.run([y[1], chosen, four[0, 1], table.lookup(tf.constant(['b', 'x']))]))\n"
        "try:\n"
        "    from tensorflow.contrib.layers.python.layers import nothing\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    assert found.splitlines() == [
        "() (2, ?) (?,)",
        "[array([4., 4., 4., 4., 4.], dtype=float32), np.float32(4.0), np.float32(4.0), array([ 1, -1])]",
        "cannot import name 'nothing' from 'tensorflow.contrib.layers.python.layers' (unknown location)",
    ]


def test_libraries_find_the_module_as_they_look_for_it(run_python):
    program = """
import importlib.util
import situs
situs.install_as_tensorflow()
import tensorflow, tensorflow.compat.v1
for name in ("tensorflow", "tensorflow.compat.v1", "tensorflow.nn", "tensorflow.keras"):
    print(importlib.util.find_spec(name).name == name)
"""
    assert run_python(program).split() == ["True"] * 4


def test_the_defaults_are_those_of_todays_tensorflow(run_python):
    out = run_python(
        "import situs; situs.install_as_tensorflow(replace=True)\n"
        "import tensorflow as tf, tensorflow.compat.v1 as v1\n"
        "print(tf.config.get_soft_device_placement(), v1.add(1, 2).numpy(), v1.executing_eagerly())\n"
        "v1.disable_v2_behavior()\n"
        "print(v1.add(1, 2).op.type, v1.executing_eagerly())\n"
    )
    assert out.splitlines() == ["True 3 True", "AddV2 False"]


def test_importing_everything_gives_the_public_names(run_python):
    out = run_python(
        "import situs; situs.install_as_tensorflow(replace=True)\n"
        "import builtins\nfrom tensorflow import *\nbuiltins.print(float32, reshape([1, 2], [2, 1]).shape)"
    )
    assert out == "<dtype: 'float32'> (2, 1)\n"


# Never by surprise.


def test_tensorflow_that_was_imported_before_stays(run_python, tmp_path):
    (tmp_path / "tensorflow.py").write_text("real = True\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport situs\n"
        "{}"
        "try: situs.install_as_tensorflow({})\n"
        "except RuntimeError as error: print(type(error).__name__, error)\n"
        "import tensorflow; print(hasattr(tensorflow, 'real'))\n"
    )
    first, second = run_python(program.format("import tensorflow\n", "replace=True")).splitlines()
    assert "imported already" in first
    assert second == "True"
    first, second = run_python(program.format("", "")).splitlines()
    assert "installed here too" in first
    assert second == "True"
    assert run_python(program.format("", "replace=True")) == "False\n"


def test_one_process_has_one_dialect(run_python):
    out = run_python(
        "import situs\nsitus.install_as_tensorflow('v1', True); situs.install_as_tensorflow('v1', True)\n"
        "try: situs.install_as_tensorflow('v2', True)\nexcept RuntimeError as error: print(error)\n"
        "try: situs.install_as_tensorflow('v3')\nexcept ValueError as error: print(error)\n"
    )
    assert out.splitlines() == [
        "tensorflow is Situs already, in the dialect v1; one process has one.",
        "A dialect is 'v1' or 'v2', got 'v3'.",
    ]


# What is missing.


def test_a_missing_name_is_told_with_its_line_and_what_to_do(tmp_path):
    program = "import tensorflow as tf\nx = tf.constant(1.0)\ny = tf.lite.Interpreter(x)\nz = tf.tpu.rewrite\n"
    status, _, said = situs_run(tmp_path, program, "--missing", "missing.json")
    assert status == 1
    assert "program.py uses what Situs lacks, at line 3: y = tf.lite.Interpreter(x)" in said
    assert "tf.lite.Interpreter (line 3), tf.tpu (line 4)" in said
    found = json.loads((tmp_path / "missing.json").read_text())
    assert found["uses"] == [{"name": "tf.lite.Interpreter", "line": 3}, {"name": "tf.tpu", "line": 4}]
    assert found["asked_for"] == ["tensorflow.lite.Interpreter"]


def test_a_slip_of_the_pen_is_told(tmp_path):
    status, _, said = situs_run(tmp_path, "import tensorflow as tf\ntf.nn.sofmax([1.0])\n")
    assert status == 1
    assert "did you mean tf.nn.softmax?" in said


FAILING = """
import tensorflow as tf

@tf.function
def step(x):
    return tf.matmul(x, tf.ones([3, 3]))

{}
step(tf.ones([2, 2]))
"""


def test_an_operation_is_told_by_the_lines_of_the_program(tmp_path):
    function = "f = tf.function(lambda x, n: tf.reshape(x, [n, -1]))"
    _, _, said = situs_run(tmp_path, f"import tensorflow as tf\n{function}\nf(tf.ones([6]), tf.constant(4))\n")
    assert "Operation 'Reshape' was made at:" in said
    assert "program.py" in said
    assert "runpy" not in said


def test_an_error_is_told_by_the_lines_of_the_program(tmp_path):
    status, _, said = situs_run(tmp_path, FAILING.format(""))
    assert status == 1
    assert "ValueError: Matrix size-incompatible" in said
    assert "return tf.matmul(x, tf.ones([3, 3]))" in said
    assert "_src" not in said
    _, _, said = situs_run(tmp_path, FAILING.format("tf.debugging.disable_traceback_filtering()"))
    assert "_src" in said


def test_a_missing_module_is_told(tmp_path):
    status, _, said = situs_run(tmp_path, "from tensorflow.python.tpu import tpu_feed\n")
    assert status == 1
    assert "No module named 'tensorflow.python.tpu': Situs stands for tensorflow here" in said
    assert "at line 1" in said


def test_a_name_of_the_other_dialect_says_so(tmp_path):
    status, _, said = situs_run(tmp_path, V1, "--dialect", "v2")
    assert status == 1
    assert "'placeholder': it belongs to TensorFlow 1. Run the program with --dialect v1" in said


def test_other_errors_are_left_alone(tmp_path):
    status, _, said = situs_run(tmp_path, "import tensorflow as tf\ntf.ones([2]) + tf.ones([3])\n")
    assert status == 1
    assert "lacks" not in said
    assert 'program.py", line 2' in said


def test_a_program_of_situs_own_v1_builds_graphs(tmp_path):
    program = (
        "import situs.compat.v1 as tf\nwith tf.Session() as session:\n    print(session.run(tf.constant(2) + 3))\n"
    )
    status, printed, said = situs_run(tmp_path, program)
    assert (status, printed.strip()) == (0, "5"), said


# Which dialect.


@pytest.mark.parametrize(
    ("program", "dialect"),
    [
        (V1, "v1"),
        (V2, "v2"),
        ("import tensorflow as tf\ntf.app.run()", "v1"),
        ("import tensorflow as tf\ntf.contrib.layers.flatten", "v1"),
        ("import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\ntf.Session()", "v2"),
        ("import tensorflow as tf\ntf.compat.v1.Session()\ntf.add(1, 2)", "v2"),
        ("from tensorflow.keras import layers\nlayers.Dense(1)", "v2"),
        ("from tensorflow.examples import x\nimport tensorflow as tf\ntf.train.AdamOptimizer(0.1)", "v1"),
        ("import tensorflow as tf\ntf.add(1, 2)", "v2"),
        ("import situs.compat.v1 as tf\ntf.Session()", "v1"),
        ("from situs.compat import v1 as tf", "v1"),
        ("from situs.compat.v1 import Session", "v1"),
        ("import situs as tf\ntf.compat.v1.Session()", "v2"),
        ("import situs.compat.v1 as tf1\nimport tensorflow as tf\ntf.function\ntf.GradientTape", "v2"),
        ("print('no tensorflow')", "v2"),
        ("this is not Python", "v2"),
    ],
)
def test_the_dialect_is_told_from_names(tmp_path, program, dialect):
    path = tmp_path / "program.py"
    path.write_text(program)
    assert dialect_of(str(path)) == dialect


def test_names_are_found_however_they_are_imported():
    source = (
        "import tensorflow as tf, tensorflow.nn as nn\nfrom tensorflow import math as m, keras\nimport numpy as np\n"
        "tf.a.b.c(nn.relu, m.add(1), np.add)\nkeras.layers.Dense(1).call\n"
    )
    assert used(source) == {
        "nn": 1,
        "math": 2,
        "keras": 2,
        "a.b.c": 4,
        "nn.relu": 4,
        "math.add": 4,
        "keras.layers.Dense": 5,
    }
