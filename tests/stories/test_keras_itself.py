"""The package ``keras``, unmodified, on its TensorFlow backend with Situs beneath, by ``situs run``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import STUCK

PROGRAMS = Path(__file__).parent / "keras_programs"
RECORDED = json.loads((Path(__file__).parent.parent / "data" / "keras_histories.json").read_text())
SEEDED = json.loads((Path(__file__).parent.parent / "data" / "keras_seeded.json").read_text())
IMPORTS = "import numpy as np, tensorflow as tf\nfrom tensorflow import keras\nfrom tensorflow.keras import layers\n"
MODEL = (
    "model = keras.Sequential([layers.Input((4,)), layers.Dense(8, activation='relu'), layers.Dense(1)])\n"
    "model.compile('adam', 'mse')\n"
    "x = np.arange(32, dtype='float32').reshape(8, 4) / 32\n"
    "y = x.sum(1, keepdims=True)\n"
)


def ran(path: Path, **env: str) -> str:
    """What a program prints, run as users run it: nothing set but `env`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SITUS_")} | env
    command = [sys.executable, "-m", "situs", "run", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK, check=False, env=clean)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def run_keras(tmp_path):
    def run(program: str, **env: str) -> list[str]:
        (tmp_path / "program.py").write_text(IMPORTS + program)
        return ran(tmp_path / "program.py", **env).splitlines()

    return run


@pytest.mark.parametrize("gpus", ["0", "1"])
def test_trainings_are_those_of_tensorflow(gpus):
    """Histories, evaluations and predictions of five trainings, as recorded from TensorFlow 2.21."""
    found = json.loads(ran(PROGRAMS / "trainings.py", SITUS_VIRTUAL_GPUS=gpus))
    assert found.keys() == RECORDED.keys()
    for name, wanted in RECORDED.items():
        assert found[name].keys() == wanted.keys()
        for figure, values in wanted.items():
            np.testing.assert_allclose(found[name][figure], values, rtol=2e-5, atol=2e-6, err_msg=f"{name}: {figure}")


@pytest.mark.parametrize("gpus", ["0", "1"])
def test_a_seed_gives_tensorflows_weights_dropout_and_shuffles(gpus):
    """Models made and trained after ``keras.utils.set_random_seed``, as recorded from TensorFlow 2.21.

    The first weights are the same to the bit, but for the one that is made by a QR decomposition: an LSTM's third.
    """
    found = json.loads(ran(PROGRAMS / "seeded.py", SITUS_VIRTUAL_GPUS=gpus))
    assert found.keys() == SEEDED.keys()
    for name, wanted in SEEDED.items():
        different = [
            n
            for n, pair in enumerate(zip(found[name].pop("first", []), wanted.get("first", []), strict=True))
            if pair[0] != pair[1]
        ]
        assert different == ([2] if name == "lstm" else []), name
        for figure, values in found[name].items():
            np.testing.assert_allclose(values, wanted[figure], rtol=1e-5, atol=2e-6, err_msg=f"{name}: {figure}")


@pytest.mark.parametrize("gpus", ["0", "1"])
def test_a_program_of_tensorflow_1_with_a_seed_prints_what_tensorflow_prints(gpus):
    program, recorded = (
        PROGRAMS.parent / "graph_programs" / "seeded.py",
        PROGRAMS.parents[1] / "data" / "seeded_graph.txt",
    )
    assert ran(program, SITUS_VIRTUAL_GPUS=gpus) == recorded.read_text()


def test_models_are_saved_and_loaded(run_keras, tmp_path):
    out = run_keras(
        MODEL + "model.fit(x, y, epochs=2, verbose=0)\n"
        f"model.save(r'{tmp_path}/model.keras'); model.save_weights(r'{tmp_path}/model.weights.h5')\n"
        f"again = keras.models.load_model(r'{tmp_path}/model.keras')\n"
        "print(np.array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0)))\n"
        "print(int(again.optimizer.iterations))\n"
        "model.set_weights([np.zeros_like(w) for w in model.get_weights()])\n"
        f"model.load_weights(r'{tmp_path}/model.weights.h5')\n"
        "print(np.array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0)))\n"
        f"tf.train.Checkpoint(model=again).write(r'{tmp_path}/ckpt')\n"
        "model.set_weights([np.zeros_like(w) for w in model.get_weights()])\n"
        f"tf.train.Checkpoint(model=model).read(r'{tmp_path}/ckpt')\n"
        "print(np.array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0)))\n"
    )
    assert out == ["True", "2", "True", "True"]


def test_callbacks_and_datasets(run_keras):
    out = run_keras(
        MODEL + "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)\n"
        "seen = []\n"
        "class Note(keras.callbacks.Callback):\n"
        "    def on_epoch_end(self, epoch, logs=None): seen.append((epoch, sorted(logs)))\n"
        "stop = keras.callbacks.EarlyStopping(monitor='loss', min_delta=1e9, patience=0)\n"
        "model.fit(data, epochs=5, validation_data=data, verbose=0, callbacks=[Note(), stop])\n"
        "print(seen)\n"
    )
    assert out == ["[(0, ['loss', 'val_loss']), (1, ['loss', 'val_loss'])]"]


def test_layers_of_ones_own_and_train_steps(run_keras):
    out = run_keras(
        "class Scale(layers.Layer):\n"
        "    def build(self, shape): self.s = self.add_weight(shape=(), initializer='ones')\n"
        "    def call(self, x): return x * self.s\n"
        "class Model(keras.Model):\n"
        "    def __init__(self): super().__init__(); self.scale = Scale()\n"
        "    def call(self, x): return self.scale(x)\n"
        "    def train_step(self, data):\n"
        "        x, y = data\n"
        "        with tf.GradientTape() as tape: loss = tf.reduce_mean((self(x, training=True) - y) ** 2)\n"
        "        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)\n"
        "        return {'error': loss}\n"
        "model = Model(); model.compile(keras.optimizers.SGD(0.1))\n"
        "x = np.ones((4, 1), 'float32')\n"
        "print(['%.4f' % v for v in model.fit(x, 3 * x, batch_size=4, epochs=3, verbose=0).history['error']])\n"
    )
    assert out == ["['4.0000', '2.5600', '1.6384']"]


def test_devices_hold_inside_keras(run_keras):
    out = run_keras(
        "with tf.device('/gpu:1'): dense = layers.Dense(2); z = dense(tf.ones([1, 3]))\n"
        "print(z.device[-5:], dense.kernel.value.device[-5:])\n"
        + MODEL
        + "model.fit(x, y, epochs=1, verbose=0)\nprint(model.layers[0].kernel.value.device[-5:])\n",
        SITUS_VIRTUAL_GPUS="2",
    )
    assert out == ["GPU:1 GPU:1", "GPU:0"]


def test_keras_by_its_own_name_is_the_same_package(run_keras):
    out = run_keras(
        "import keras as own\nprint(own.layers.Dense is layers.Dense, own.backend.backend(), own.__version__[:4])\n"
    )
    assert out == ["True tensorflow 3.15"]


def test_the_namespaces_of_keras_outside_of_it_are_its_own(run_keras):
    out = run_keras(
        "names = ['optimizers', 'losses', 'metrics', 'initializers']\n"
        "print([getattr(tf, name) is getattr(keras, name) for name in names])\n"
        "from tensorflow.optimizers import SGD\n"
        "w = keras.Variable(2.0)\n"
        "with tf.GradientTape() as tape: y = w * w\n"
        "SGD(0.25).apply_gradients([(tape.gradient(y, w.value), w)])\n"
        "print(float(w))\n"
    )
    assert out == ["[True, True, True, True]", "1.0"]


def test_the_method_of_a_model_may_be_a_function(run_keras):
    out = run_keras(
        "class Net(keras.Model):\n"
        "    def __init__(self): super().__init__(); self.out = layers.Dense(3)\n"
        "    @tf.function\n"
        "    def call(self, x, is_training=False): return self.out(x) if is_training else tf.nn.softmax(self.out(x))\n"
        "net = Net()\n"
        "print(net(tf.ones([2, 4]), is_training=True).shape, round(float(tf.reduce_sum(net(tf.ones([2, 4])))), 4))\n"
    )
    assert out == ["(2, 3) 2.0"]


def test_what_is_not_there_yet_is_refused_in_words(run_keras):
    out = run_keras(
        "calls = [lambda: tf.lite.load(1), lambda: tf.distribute.TPUStrategy(), lambda: tf.lite.Optimize(1)]\n"
        "for call in calls:\n"
        "    try: call()\n"
        "    except NotImplementedError as error: print(error)\n"
    )
    assert [line.split(":")[0].removesuffix(".") for line in out] == [
        "Situs has no tf.lite.load yet",
        "Situs has no tf.distribute.TPUStrategy yet",
        "Situs has no tf.lite.Optimize yet",
    ]
