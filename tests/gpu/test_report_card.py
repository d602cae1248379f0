"""The report on a real NVIDIA card: what is noted there, without waiting for it. Skipped without one.

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
    during = [float(step(x)) for _ in range(5)]
after = float(step(x))
for first, second in zip([before, *during], [*during, after]):
    assert abs(first * 0.99 - second) < 1e-2 * abs(second), (before, during, after)
data = report.to_json()
events, strings = data['events'], data['strings']
names = [strings[op] for op in events['op']]
assert names.count('CUDA graph') == 5, names  # one bar each
assert 'MatMul' not in names, names
bars = [number for number, name in enumerate(names) if name == 'CUDA graph']
assert all(data['devices'][events['device'][bar]]['name'] == 'GPU:0' for bar in bars)
assert all(1_000 < events['duration'][bar] < 50_000_000 for bar in bars), [events['duration'][bar] for bar in bars]
kinds = zip(events['name'], events['kind'])
assert [strings[name] for name, kind in kinds if data['kinds'][kind] == 'run'] == ['step'] * 5
print('stepped', os.path.getsize('report.html') < 1_000_000)
"""

AHEAD = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import time
import situs as tf

with tf.device('GPU:0'):
    x = tf.ones([8192, 8192]) / 8192.0
float(tf.reduce_sum(tf.matmul(x, x)))
with tf.report() as report:
    start = time.time_ns()
    y = x
    for _ in range(20):
        y = tf.matmul(y, x)
    ordered = time.time_ns() - start
    float(tf.reduce_sum(y))
    whole = time.time_ns() - start
data = report.to_json()
events, strings = data['events'], data['strings']
products = [n for n, op in enumerate(events['op']) if strings[op] == 'MatMul']
spans = sorted((events['start'][n], events['start'][n] + events['duration'][n]) for n in products)
busy = sum(end - begin for begin, end in spans)
print('ordered', ordered, 'busy', busy, 'whole', whole, 'lanes', [lane['name'] for lane in data['lanes']])
assert len(products) == 20
assert ordered < 0.5 * busy, (ordered, busy)  # nothing was waited for after each call
assert 0.7 * whole < busy < 1.1 * whole, (busy, whole)  # and yet the times are those of the work
assert all(end <= begin + 20_000 for (_, end), (begin, _) in zip(spans, spans[1:])), spans  # one after the other
begin = data['program']['started']
assert start - begin - 1_000_000 < spans[0][0] and spans[-1][1] < start + whole - begin + 1_000_000, spans
assert len({events['lane'][n] for n in products}) == 1, data['lanes']
print('ran ahead')
"""

BESIDE = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import situs as tf

with tf.device('GPU:0'):
    x = tf.ones([8192, 8192]) / 8192.0
with tf.device('CPU:0'):
    small = tf.ones([512, 512])
float(tf.reduce_sum(tf.matmul(x, x)))
with tf.report() as report:
    y = x
    for _ in range(10):
        y = tf.matmul(y, x)
    with tf.device('CPU:0'):
        for _ in range(3):
            small = tf.matmul(small, small) / 512.0
    float(tf.reduce_sum(y))
data = report.to_json()
events, strings = data['events'], data['strings']
def spans(device):
    where = [each['name'] for each in data['devices']].index(device)
    rows = zip(events['op'], events['device'], events['start'], events['duration'])
    return [(start, start + took) for op, at, start, took in rows if at == where and strings[op] == 'MatMul']
card, host = spans('GPU:0'), spans('CPU:0')
both = sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in card for b in host)
print('beside', both, card, host)
assert both > 0, (card, host)
print('side by side')
"""


YOUNG = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import situs as tf

weights = tf.Variable(tf.ones([256, 256]))

@tf.function
def step(x):
    weights.assign_sub(0.01 * tf.matmul(x, weights))
    return tf.reduce_sum(weights)

x = tf.ones([256, 256]) / 256.0
with tf.report() as report:
    found = [float(step(x)) for _ in range(40)]
assert all(abs(first * 0.99 - second) < 1e-2 * abs(second) for first, second in zip(found, found[1:])), found
data = report.to_json()
names = [data['strings'][op] for op in data['events']['op']]
print(names.count('MatMul'), names.count('CUDA graph'))
assert 10 < names.count('MatMul') < 40 and names.count('MatMul') + names.count('CUDA graph') == 40, names
print('captured meanwhile')
"""


def test_work_of_the_card_is_noted_with_its_copies_and_its_memory(run_python):
    assert "noted" in run_python(EAGER)


def test_a_card_is_not_waited_for_and_its_times_are_those_of_its_work(run_python):
    assert "ran ahead" in run_python(AHEAD)


def test_work_of_a_card_and_of_the_host_at_once_is_shown_at_once(run_python):
    assert "side by side" in run_python(BESIDE)


def test_a_step_that_was_captured_is_one_bar_a_run(run_python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "stepped True" in run_python(STEPS)


def test_a_step_that_is_captured_while_a_report_is_open_is_calls_first_and_then_bars(run_python):
    assert "captured meanwhile" in run_python(YOUNG)
