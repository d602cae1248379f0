"""The report on a real NVIDIA card: what is noted there, that work is waited for. Skipped without one.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

EAGER = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import situs as tf

with tf.device('GPU:0'):
    x = tf.ones([4096, 4096])
tf.matmul(x, x)
with tf.report() as report:
    y = tf.matmul(x, x)
    with tf.device('CPU:0'):
        tf.reduce_sum(y)
data = report.to_json()
events, strings = data['events'], data['strings']
ops = [strings[op] for op in events['op']]
product = ops.index('MatMul')
assert data['devices'][events['device'][product]]['name'] == 'GPU:0', data['devices']
assert events['duration'][product] > 50_000, events['duration'][product]  # 137 GFLOP: its work, not the order for it
copy = ops.index('Copy')
assert events['bytes'][copy] == 4096 * 4096 * 4
assert [data['devices'][events[end][copy]]['name'] for end in ('source', 'device')] == ['GPU:0', 'CPU:0']
memory = data['memory'][0]
assert memory['limit'] >= memory['peak']['size'] >= 2 * 4096 * 4096 * 4, memory['peak']
assert not next(each for each in data['devices'] if each['name'] == 'GPU:0')['virtual']
print('noted')
"""

STEPS = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import situs as tf

weights = tf.Variable(tf.ones([256, 256]))

@tf.function
def step(x):
    weights.assign_sub(0.01 * tf.matmul(x, weights))
    return tf.reduce_sum(weights)

x = tf.ones([256, 256]) / 256.0
for _ in range(25):
    step(x)  # until it is a CUDA graph
before = float(step(x))
with tf.report('report.html') as report:
    during = float(step(x))
after = float(step(x))
assert abs(before * 0.99 - during) < 1e-2 * abs(during) and abs(during * 0.99 - after) < 1e-2 * abs(after)
data = report.to_json()
names = {data['strings'][op] for op in data['events']['op']}
assert 'MatMul' in names, names
kinds = zip(data['events']['name'], data['events']['kind'])
assert [data['strings'][name] for name, kind in kinds if data['kinds'][kind] == 'run'] == ['step']
print('stepped', os.path.getsize('report.html') < 1_000_000)
"""


def test_work_of_the_card_is_noted_with_its_copies_and_its_memory(run_python):
    assert "noted" in run_python(EAGER)


def test_a_step_that_was_captured_is_noted_call_by_call_and_captured_again(run_python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "stepped True" in run_python(STEPS)
