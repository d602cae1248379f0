"""Random graphs on GPUs that they hardly fit on: what the placer says fits runs, and what does not is refused."""

from __future__ import annotations

PROGRAM = """
import random
import numpy as np
import situs as tf2
import situs.compat.v1 as tf
from situs._src.placement import dynamic
from situs._src.placement.search.conflict import InfeasibleError

dynamic.MOST_MOVES = 300
tf2.config.set_placer("dynamic")


def build(seed):
    chance = random.Random(seed)
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    made = [x]
    with tf.device("/device:GPU:*"):
        for i in range(chance.randrange(3, 9)):
            source = made[-1] if chance.random() < 0.7 else chance.choice(made)
            size = chance.choice([32, 64, 96, 128, 192])
            start = np.random.RandomState(i).randn(int(source.shape[1]), size).astype("f") * 0.1
            made.append(tf.nn.relu(tf.matmul(source, tf.Variable(start, name=f"w{i}"))))
            if chance.random() < 0.3:
                made.append(tf.tanh(made[-1]) + made[-1])
        loss = tf.add_n([tf.reduce_mean(tf.square(each - 0.5)) for each in made[-3:]])
        kind = chance.choice([tf.train.GradientDescentOptimizer, tf.train.AdamOptimizer])
        return x, loss, kind(0.01).minimize(loss), chance.choice([16, 64, 128])


counts = {"ran": 0, "refused": 0, "spread": 0}
for seed in range(SEEDS):
    with tf.Graph().as_default():
        x, loss, step, batch = build(seed)
        fed = np.random.RandomState(seed).randn(batch, 64).astype("f")
        with tf.Session() as session:
            try:
                session.run(tf.global_variables_initializer())
                session.run([loss, step], {x: fed})
            except InfeasibleError:
                counts["refused"] += 1
                continue
            for _ in range(8):  # through a recorded step, and placements that follow it
                session.run([loss, step], {x: fed})
            homes = {device.short_name for device in session.placement().devices()}
            counts["ran"] += 1
            counts["spread"] += {"GPU:0", "GPU:1"} <= homes
print(counts)
"""


def test_what_is_said_to_fit_runs(run_python, tmp_path):
    program = PROGRAM.replace("SEEDS", "14")
    printed = run_python(program, SITUS_VIRTUAL_GPUS="2x280KiB", SITUS_COSTS=str(tmp_path / "costs.json"))
    counts = eval(printed.splitlines()[-1])
    assert counts["ran"] + counts["refused"] == 14
    assert counts["spread"] >= 1
    assert counts["refused"] >= 1
