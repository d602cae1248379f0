"""Training on a real NVIDIA card: steps as CUDA graphs, the same numbers as on the CPU. Skipped where there is none.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

GRAPH = """
import numpy as np
import situs
import situs.compat.v1 as tf
situs.config.experimental.enable_tensor_float_32_execution(False)
rng = np.random.default_rng(0)
W = [rng.normal(size=shape).astype(np.float32) * 0.3 for shape in ((3, 3, 1, 8), (8 * 16, 32), (32, 4))]
def step_of(optimizer, device):
    with tf.device(device):
        x, y = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.int64, [None])
        w = [tf.Variable(each) for each in W]
        h = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(x, w[0], 1, 'SAME')), 2, 2, 'SAME')
        h = tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 8 * 16]), w[1]) + tf.Variable(tf.zeros([32])))
        logits = tf.matmul(h, w[2])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        loss += 0.01 * tf.nn.l2_loss(w[1]) / tf.cast(tf.shape(x)[0], tf.float32)
        train = optimizer().minimize(loss, global_step=tf.train.get_or_create_global_step())
    return x, y, w, loss, train
def batches(count, rows=16):
    made = np.random.default_rng(1)
    return [(made.normal(size=(rows, 8, 8, 1)).astype(np.float32), made.integers(0, 4, rows)) for _ in range(count)]
def capture_of(session, fetch):
    programs = [p.program for p in session._prepared.values() if fetch in p.fetches.tensors]
    return programs[0]._capturing.captured
def losses_of(optimizer, device, count=60, between=lambda *_: None):
    with tf.Graph().as_default():
        x, y, w, loss, train = step_of(optimizer, device)
        config = tf.ConfigProto(allow_soft_placement=True, gpu_options=tf.GPUOptions(allow_growth=True))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            found = []
            for number, batch in enumerate(batches(count)):
                found.append(session.run([loss, train], dict(zip((x, y), batch)))[0])
                between(session, number, w)
            if device == '/gpu:0':
                assert capture_of(session, loss) is not None, 'not captured'
            return np.array(found), session.run(w)
"""

OPTIMIZERS = [
    "tf.train.GradientDescentOptimizer(0.1)",
    "tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)",
    "tf.train.AdamOptimizer(0.01)",
    "tf.train.AdagradOptimizer(0.1)",
    "tf.train.AdadeltaOptimizer(1.0)",
    "tf.train.RMSPropOptimizer(0.01, centered=True)",
    "tf.train.FtrlOptimizer(0.1)",
    "tf.train.AdamOptimizer(tf.train.exponential_decay(0.01, tf.train.get_or_create_global_step(), 5, 0.9))",
]


def test_every_optimizer_trains_on_a_card_as_on_the_cpu(run_python):
    out = run_python(
        GRAPH + f"for text in {OPTIMIZERS!r}:\n"
        "    make = lambda: eval(text)\n"
        "    (ours, w1), (theirs, w2) = losses_of(make, '/gpu:0'), losses_of(make, '/cpu:0')\n"
        "    np.testing.assert_allclose(ours, theirs, rtol=2e-3, err_msg=text)\n"
        "    for a, b in zip(w1, w2): np.testing.assert_allclose(a, b, rtol=5e-2, atol=2e-3, err_msg=text)\n"
        "print('same')"
    )
    assert "same" in out.splitlines()


def test_double_precision_is_trained_on_a_card(run_python):
    out = run_python(
        "import numpy as np, situs.compat.v1 as tf\n"
        "def trained(device, make, steps=30):\n"
        "    with tf.Graph().as_default(), tf.device(device):\n"
        "        w = tf.Variable(np.linspace(-1.0, 1.0, 8))\n"
        "        step = tf.train.get_or_create_global_step()\n"
        "        rate = tf.train.exponential_decay(tf.constant(0.1, tf.float64), step, 5, 0.9)\n"
        "        train = make(rate).minimize(tf.reduce_sum(w ** 4), global_step=step)\n"
        "        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:\n"
        "            session.run(tf.global_variables_initializer())\n"
        "            for _ in range(steps): session.run(train)\n"
        "            return session.run(w)\n"
        "for make in (tf.train.GradientDescentOptimizer, lambda rate: tf.train.MomentumOptimizer(rate, 0.9),\n"
        "             tf.train.AdamOptimizer):\n"
        "    np.testing.assert_allclose(trained('/gpu:0', make), trained('/cpu:0', make), rtol=1e-7)\n"
        "print('same')"
    )
    assert "same" in out.splitlines()


def test_what_happens_to_variables_between_captured_steps_is_seen(run_python):
    out = run_python(
        GRAPH + "held = []\n"
        "def between(session, number, w):\n"
        "    if number in (5, 30, 45): w[1].load(np.full((128, 32), 0.001 * number, np.float32), session)\n"
        "    if number == 50:\n"
        "        value = session._state._cells[w[2].op.name].read()\n"
        "        held.append((value, value.clone()))\n"
        "make = lambda: tf.train.AdamOptimizer(0.01)\n"
        "ours, w1 = losses_of(make, '/gpu:0', 90, between)\n"
        "theirs, w2 = losses_of(make, '/cpu:0', 90, between)\n"
        "np.testing.assert_allclose(ours, theirs, rtol=5e-3)\n"
        "assert all(value.equal(then) for value, then in held)\n"
        "print('seen')"
    )
    assert "seen" in out.splitlines()


def test_a_thousand_captured_steps_take_no_more_memory(run_python):
    out = run_python(
        GRAPH + "import torch\n"
        "x, y, w, loss, train = step_of(lambda: tf.train.AdamOptimizer(0.01), '/gpu:0')\n"
        "session = tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True)))\n"
        "session.run(tf.global_variables_initializer())\n"
        "(batch,) = batches(1)\n"
        "for _ in range(50): session.run(train, dict(zip((x, y), batch)))\n"
        "before = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()\n"
        "for _ in range(1000): session.run(train, dict(zip((x, y), batch)))\n"
        "assert (torch.cuda.memory_reserved(), torch.cuda.memory_allocated()) == before\n"
        "print('still')"
    )
    assert "still" in out.splitlines()


def test_training_and_evaluation_are_both_captured(run_python):
    out = run_python(
        GRAPH + "x, y, w, loss, train = step_of(lambda: tf.train.MomentumOptimizer(0.05, 0.9), '/gpu:0')\n"
        "session = tf.Session()\n"
        "session.run(tf.global_variables_initializer())\n"
        "(batch,) = batches(1)\n"
        "fed = dict(zip((x, y), batch))\n"
        "losses = []\n"
        "for _ in range(100):\n"
        "    session.run(train, fed)\n"
        "    losses.append(session.run(loss, fed))\n"
        "programs = [p.program._capturing for p in session._prepared.values()]\n"
        "assert sum(p is not None and p.captured is not None for p in programs) == 2\n"
        "assert losses[-1] < losses[0] / 2, losses\n"
        "print('both')"
    )
    assert "both" in out.splitlines()


FUNCTION = """
import numpy as np
import logging
import situs as tf
logging.basicConfig(level=logging.DEBUG)  # says why something was not captured
tf.config.experimental.enable_tensor_float_32_execution(False)
def train(decorate, dropout=0.0, device='/gpu:0', count=60):
    rng = np.random.default_rng(0)
    with tf.device(device):
        w = [tf.Variable(rng.normal(size=s).astype(np.float32) * 0.3) for s in ((6, 16), (16, 3))]
        x, y = tf.constant(rng.normal(size=(32, 6)).astype(np.float32)), tf.constant(rng.integers(0, 3, 32))
        rate = tf.keras.optimizers.schedules.CosineDecay(0.05, 100)
        optimizer = tf.keras.optimizers.AdamW(rate, weight_decay=0.01)
    @decorate
    def step(x, y):
        with tf.GradientTape() as tape:
            h = tf.nn.gelu(tf.matmul(x, w[0]))
            if dropout: h = tf.nn.dropout(h, dropout)
            logits = tf.matmul(h, w[1])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        grads = tape.gradient(loss, w)
        grads, _ = tf.clip_by_global_norm(grads, 1.0)
        optimizer.apply_gradients(zip(grads, w))
        return loss
    with tf.device(device):
        return [float(step(x, y)) for _ in range(count)], step, w, (x, y)
def captured(step):
    found = [r._program._capturing for g in step._graphs for r in g._programs.values()]
    return any(c is not None and c.captured is not None for c in found)
"""


def test_a_function_with_schedule_and_clipping_is_captured(run_python):
    out = run_python(
        FUNCTION + "ours, step, w, _ = train(tf.function)\n"
        "assert captured(step)\n"
        "theirs, *_ = train(lambda f: f, device='/cpu:0')\n"
        "np.testing.assert_allclose(ours, theirs, rtol=5e-3)\n"
        "print('same')"
    )
    assert "same" in out.splitlines()


def test_dropout_draws_anew_in_captured_steps(run_python):
    out = run_python(
        FUNCTION + "losses, step, w, _ = train(tf.function, dropout=0.5)\n"
        "assert captured(step)\n"
        "assert len(set(losses)) == len(losses)\n"
        "print('anew')"
    )
    assert "anew" in out.splitlines()


def test_values_that_somebody_holds_stay(run_python):
    out = run_python(
        FUNCTION + "losses, step, w, (x, y) = train(tf.function)\n"
        "held = w[0].read_value()\n"
        "then = held.numpy().copy()\n"
        "for _ in range(30): step(x, y)\n"
        "np.testing.assert_array_equal(held.numpy(), then)\n"
        "assert not np.array_equal(w[0].numpy(), then)\n"
        "assert captured(step)\n"
        "print('stays')"
    )
    assert "stays" in out.splitlines()


def test_a_dataset_in_the_graph_feeds_captured_steps(run_python):
    out = run_python(
        GRAPH + "images = np.random.default_rng(2).normal(size=(64, 8, 8, 1)).astype(np.float32)\n"
        "data = tf.data.Dataset.from_tensor_slices((images, np.arange(64) % 4)).repeat().batch(16, True)\n"
        "x, y = tf.data.make_one_shot_iterator(data.prefetch(2)).get_next()\n"
        "w = [tf.Variable(each) for each in W]\n"
        "h = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(x, w[0], 1, 'SAME')), 2, 2, 'SAME')\n"
        "logits = tf.matmul(tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 128]), w[1])), w[2])\n"
        "loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))\n"
        "train = tf.train.AdamOptimizer(0.01).minimize(loss)\n"
        "session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))\n"
        "session.run(tf.global_variables_initializer())\n"
        "losses = [session.run([loss, train])[0] for _ in range(100)]\n"
        "assert capture_of(session, loss) is not None\n"
        "assert losses[-1] < losses[0] / 2\n"
        "print('fed')"
    )
    assert "fed" in out.splitlines()


KERAS = """
import logging
logging.basicConfig(level=logging.DEBUG)
import numpy as np
import situs as tf
from situs._src.runtime.run import cuda_graph
keras = tf.keras
taken = []
capture = cuda_graph.CapturedProgram._capture
def noting(self, values, brought):
    taken.append(self)
    capture(self, values, brought)
cuda_graph.CapturedProgram._capture = noting
rng = np.random.default_rng(0)
x, y = rng.normal(size=(256, 300)).astype('float32'), rng.integers(0, 4, 256)
weights = [rng.normal(size=shape).astype('float32') * 0.1 for shape in ((300, 32), (32,), (32, 4), (4,))]
def losses(device, **options):
    with tf.device(device):
        layers = [keras.layers.Dense(32, activation='relu'), keras.layers.Dense(4)]
        model = keras.Sequential([keras.Input((300,)), *layers])
        model.set_weights(weights)
        model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model.fit(x, y, batch_size=8, epochs=12, shuffle=False, verbose=0, **options).history
"""


def test_keras_fit_records_its_steps_once_for_all_epochs(run_python):
    out = run_python(
        KERAS + "ours, theirs = losses('/gpu:0'), losses('/cpu:0')\n"
        "np.testing.assert_allclose(ours['loss'], theirs['loss'], rtol=2e-3)\n"
        "print('recorded', len(taken))"
    )
    assert "recorded 1" in out.splitlines()


def test_keras_fit_with_validation_records_both_functions_once(run_python):
    out = run_python(
        KERAS + "ours, theirs = (losses(d, validation_data=(x[:64], y[:64])) for d in ('/gpu:0', '/cpu:0'))\n"
        "np.testing.assert_allclose(ours['val_loss'], theirs['val_loss'], rtol=2e-3)\n"
        "print('recorded', len(taken), len(set(taken)))"
    )
    assert "recorded 2 2" in out.splitlines()
