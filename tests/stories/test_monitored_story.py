"""A training program of TensorFlow 1's kind is run, killed, and run again: it goes on from its last checkpoint."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

import situs.compat.v1 as tf
from tests.conftest import STUCK

ROOT = Path(__file__).parent.parent.parent

PROGRAM = '''
import sys

import numpy as np

import situs.compat.v1 as tf
from situs._src.v1.frontend import through
from situs._src.v1.monitored.hook import SessionRunArgs, SessionRunHook
from situs._src.v1.monitored.logging_hooks import LoggingTensorHook, NanTensorHook
from situs._src.v1.monitored.stop import StopAtStepHook
from situs._src.v1.monitored.training_session import MonitoredTrainingSession

folder, last = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
x = rng.normal(size=(256, 8)).astype(np.float32)
y = x @ np.arange(8, dtype=np.float32)[:, None]
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256, seed=1).repeat().batch(32)
features, labels = tf.data.make_one_shot_iterator(dataset).get_next()
weights = tf.get_variable("weights", [8, 1], initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(features, weights) - labels), name="loss")
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)


class Telling(SessionRunHook):
    """Tells of every step."""

    def before_run(self, run_context):
        return SessionRunArgs(step)

    def after_run(self, run_context, run_values):
        print("step", run_values.results, flush=True)


hooks = [StopAtStepHook(last_step=last), NanTensorHook(loss), Telling()]
hooks.append(LoggingTensorHook({"loss": loss}, every_n_iter=50))
tf.logging.set_verbosity(tf.logging.INFO)
with through(MonitoredTrainingSession)(checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=5) as sess:
    while not sess.should_stop():
        sess.run(train)
'''


def start(path: Path, folder: Path, last: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, str(path), str(folder), str(last)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_killed_loop_goes_on_from_its_last_checkpoint(tmp_path):
    path, folder = tmp_path / "program.py", tmp_path / "run"
    path.write_text(PROGRAM)
    process = start(path, folder, 1_000_000)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 60"):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()

    saved = int(tf.train.load_variable(str(folder), "global_step"))
    assert saved >= 55  # every fifth was saved, and the last of them was complete before the next step
    assert saved % 5 == 0
    said, _ = start(path, folder, saved + 200).communicate(timeout=STUCK)
    assert f"Restoring parameters from {folder}/model.ckpt-{saved}" in said
    steps = [int(number) for number in re.findall(r"^step (\d+)", said, re.MULTILINE)]
    assert (steps[0], steps[-1], len(steps)) == (saved + 1, saved + 200, 200)
    losses = [float(number) for number in re.findall(r"loss = ([\d.e+-]+)", said)]
    assert losses[-1] < losses[0]
    assert tf.train.load_variable(str(folder), "global_step") == saved + 200
    distance = np.abs(tf.train.load_variable(str(folder), "weights")[:, 0] - np.arange(8)).max()
    assert distance < 4.0


def test_a_loop_over_epochs_ends_by_itself_and_is_seen_by_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from situs._src.summaries import graph_summaries
    from situs._src.summaries.cache import FileWriterCache
    from situs._src.v1.frontend import through
    from situs._src.v1.monitored.training_session import MonitoredTrainingSession

    with tf.Graph().as_default():
        dataset = tf.data.Dataset.range(10).repeat(2)
        number = tf.cast(tf.data.make_one_shot_iterator(dataset).get_next(), tf.float32)
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([number]):
            count = tf.assign_add(step, 1)
        graph_summaries.scalar("number", number)
        with through(MonitoredTrainingSession)(checkpoint_dir=str(tmp_path), save_summaries_steps=4) as sess:
            while not sess.should_stop():
                sess.run(count)
    FileWriterCache.clear()
    read = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in read.Scalars("number")] == [
        (1, 0.0), (5, 4.0), (9, 8.0), (13, 2.0), (17, 6.0),
    ]  # fmt: skip
    assert tf.train.load_variable(str(tmp_path), "global_step") == 20
