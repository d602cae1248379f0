"""Programs that save and go on: as people write them, in both dialects, with the public names alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import situs.compat.v1 as tf
from tests.conftest import ROOT, STUCK

TRAIN_V1 = """
import sys
import numpy as np
import situs.compat.v1 as tf

folder, until = sys.argv[1], int(sys.argv[2])
x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
error = tf.matmul(x, w) - tf.reduce_sum(x, axis=1, keepdims=True)
step = tf.Variable(0, name="global_step", trainable=False, dtype=tf.int64)
update = tf.group(w.assign_sub(0.1 * tf.matmul(x, error, transpose_a=True) / 4.0), step.assign_add(1))
saver = tf.train.Saver(max_to_keep=2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    found = tf.train.get_checkpoint_state(folder)
    if found and found.model_checkpoint_path:
        saver.restore(sess, found.model_checkpoint_path)
        saver.recover_last_checkpoints(found.all_model_checkpoint_paths)
        print("restored", found.model_checkpoint_path.rpartition("/")[2])
    while sess.run(step) < until:
        number = sess.run(step)
        sess.run(update, {x: np.random.default_rng(number).standard_normal([4, 2])})
        saver.save(sess, folder + "/model.ckpt", global_step=step)
    print(sess.run(w).ravel().tolist())
"""


def run(program: str, *arguments: object, **env: str) -> list[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SITUS_", "CUDA_"))}
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**clean, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=STUCK,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_program_that_is_started_again_ends_where_one_that_went_on_does(tmp_path):
    (whole,) = run(TRAIN_V1, tmp_path / "one", 12)
    run(TRAIN_V1, tmp_path / "two", 5)
    restored, resumed = run(TRAIN_V1, tmp_path / "two", 12, SITUS_VIRTUAL_GPUS="2")  # and on other devices
    assert restored == "restored model.ckpt-5"
    assert np.allclose(json.loads(resumed), json.loads(whole), atol=1e-6)
    assert sorted(path.name for path in (tmp_path / "two").iterdir() if path.suffix == ".index") == [
        "model.ckpt-11.index",
        "model.ckpt-12.index",
    ]


TRAIN_EAGER = """
import sys
import situs as tf

class Net:
    def __init__(self):
        self.layers = [{"w": tf.Variable(tf.zeros([1000])), "b": tf.Variable(0.0)} for _ in range(3)]

net, step = Net(), tf.Variable(0)
checkpoint = tf.train.Checkpoint(net=net, step=step)
manager = tf.train.CheckpointManager(checkpoint, sys.argv[1], max_to_keep=2)
manager.restore_or_initialize()
values = {float(v) for layer in net.layers for v in layer["w"].numpy()} | {float(l["b"]) for l in net.layers}
assert values == {float(step)}, values
print("begins at", int(step), flush=True)
while True:
    step.assign_add(1)
    for layer in net.layers:
        layer["w"].assign_add(tf.ones([1000]))
        layer["b"].assign_add(1.0)
    manager.save()
    print(int(step), flush=True)
"""


def test_a_program_that_is_killed_again_and_again_loses_nothing(tmp_path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SITUS_", "CUDA_"))}
    environment = {**clean, "PYTHONPATH": str(ROOT), "SITUS_VIRTUAL_GPUS": "2"}
    reached = 0
    for seconds in (0.0, 0.013, 0.1):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAIN_EAGER, str(tmp_path)], env=environment, stdout=subprocess.PIPE, text=True
        )
        begins = int(process.stdout.readline().split()[-1])
        assert begins in (reached, reached + 1)  # the last save may have been complete, and not told any more
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        told = [int(line) for line in process.communicate()[0].splitlines() if line.strip().isdigit()]
        reached = max([begins + 1, *told])


def test_a_program_without_its_code_runs_from_its_files(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        scale = tf.get_variable("scale", initializer=2.0)
        tf.identity(x * scale, name="y")
        sess.run(tf.global_variables_initializer())
        sess.run(scale.assign(3.0))
        tf.train.Saver().save(sess, f"{tmp_path}/model", global_step=1)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{tmp_path}/model-1.meta")
        saver.restore(sess, tf.train.latest_checkpoint(tmp_path))
        y = graph.get_tensor_by_name("y:0")
        assert sess.run(y, {"x:0": [1.0, 2.0]}).tolist() == [3.0, 6.0]


EVALUATE = """
import sys
import situs as tf

v = tf.Variable(tf.zeros([5000]))
checkpoint = tf.train.Checkpoint(v=v)
for path in tf.train.checkpoints_iterator(sys.argv[1], timeout=1800):
    checkpoint.restore(path).assert_consumed()
    seen = set(v.numpy().tolist())
    assert len(seen) == 1, seen
    print(int(v.numpy()[0]), flush=True)
    if 30 in seen:
        break
"""


def test_another_program_evaluates_while_this_one_trains(tmp_path):
    import situs as eager

    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SITUS_", "CUDA_"))}
    evaluation = subprocess.Popen(
        [sys.executable, "-c", EVALUATE, str(tmp_path)],
        env={**clean, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    v = eager.Variable(eager.zeros([5000]))
    manager = eager.train.CheckpointManager(eager.train.Checkpoint(v=v), tmp_path, max_to_keep=1)
    for _ in range(30):  # much faster than the evaluation looks, so checkpoints vanish while it reads them
        v.assign_add(eager.ones([5000]))
        manager.save()
        time.sleep(0.02)
    seen = [int(line) for line in evaluation.communicate(timeout=STUCK)[0].splitlines()]
    assert evaluation.returncode == 0
    assert seen == sorted(seen)
    assert seen[-1] == 30


SAVE_ON = """
import sys
import situs as tf

made = {}
for device in sys.argv[2:]:
    with tf.device(device):
        made["v" + str(len(made))] = tf.Variable([float(len(made))] * 3)
checkpoint = tf.train.Checkpoint(**made)
if tf.train.latest_checkpoint(sys.argv[1]):
    checkpoint.restore(tf.train.latest_checkpoint(sys.argv[1])).assert_consumed()
    print([v.numpy().tolist()[0] for v in made.values()], [v.device[-5:] for v in made.values()])
for v in made.values():
    v.assign_add([10.0] * 3)
print(checkpoint.save(sys.argv[1] + "/ckpt").rpartition("/")[2])
"""


def test_checkpoints_move_between_machines_with_other_devices(tmp_path):
    assert run(SAVE_ON, tmp_path, "gpu:0", "gpu:1", "gpu:2", SITUS_VIRTUAL_GPUS="3") == ["ckpt-1"]
    assert len(list(tmp_path.glob("ckpt-1.data-*"))) == 4
    moved = run(SAVE_ON, tmp_path, "cpu:0", "cpu:0", "cpu:0")
    assert moved == ["[10.0, 11.0, 12.0] ['CPU:0', 'CPU:0', 'CPU:0']", "ckpt-2"]
    back = run(SAVE_ON, tmp_path, "gpu:1", "cpu:0", "gpu:0", SITUS_VIRTUAL_GPUS="2")
    assert back == ["[20.0, 21.0, 22.0] ['GPU:1', 'CPU:0', 'GPU:0']", "ckpt-3"]


def test_what_is_in_a_checkpoint_can_be_looked_at(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([[1.0, 2.0]], name="layer/w")
        tf.Variable("hello", name="greeting")
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, f"{tmp_path}/m")
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"greeting": [], "layer/w": [1, 2]}
    assert tf.train.load_variable(tmp_path, "greeting") == b"hello"
    assert tf.train.list_variables(tmp_path) == [("greeting", []), ("layer/w", [1, 2])]
    assert tf.train.checkpoint_exists(path)
    tf.train.remove_checkpoint(path)
    assert not tf.train.checkpoint_exists(path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "lost"])
def test_a_damaged_checkpoint_is_said_to_be_damaged(tmp_path, damage):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(np.ones([100], "f"), name="w")
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        path = saver.save(sess, f"{tmp_path}/m")
        shard = next(tmp_path.glob("m.data-*"))
        content = bytearray(shard.read_bytes())
        content[-1] ^= 1
        shard.write_bytes({"cut": content[:-10], "flipped": content, "lost": b""}[damage])
        with pytest.raises(tf.errors.DataLossError, match="damaged"):
            saver.restore(sess, path)
        assert sess.run("w:0").tolist() == [1.0] * 100


def test_a_checkpoint_cannot_run_code(tmp_path):
    """Nothing in the package that reads checkpoints can make objects of what it reads."""
    sources = [path.read_text() for path in Path(ROOT, "situs", "_src", "checkpoints").glob("*.py")]
    assert len(sources) > 10
    for word in ("pickle", "marshal", "eval(", "exec(", "torch.load", "__import__", "allow_pickle"):
        assert not any(word in source for source in sources), word
