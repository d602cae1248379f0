"""A training step under a strategy: DEVICES WIDTH [TURNS]. Prints how long its graph and a step take, and its losses.

WIDTH is that of the layers of a dense network, of which a step of a card is mostly reading and writing weights; or
"cnn" for a network of convolutions, of which it is mostly arithmetic.

DEVICES is a number of virtual GPUs, 0 for the CPU without a strategy, "workers" for processes told by TF_CONFIG, or
"card1" and "card2" for one logical device of a card, and for two. How many calls of different replicas went on at the
same time in a recorded step is printed as well; of a card, how many kernels did.
"""

import json
import os
import sys
import time

import numpy as np
import torch

import situs as tf
from situs._src.runtime.run import program as programs
from situs._src.runtime.run.cuda_graph import CAPTURED_AFTER

given, width = sys.argv[1], sys.argv[2]
turns = int(sys.argv[3]) if len(sys.argv) > 3 else 10
if given.startswith("card"):
    os.environ.pop("SITUS_VIRTUAL_GPUS", None)
else:
    os.environ["SITUS_VIRTUAL_GPUS"] = given if given.isdigit() else "0"
BATCH, SHAPE = (1024, (16, 16, 3)) if width == "cnn" else (512, (64,))
if given.startswith("card"):
    card = tf.config.list_physical_devices("GPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration(memory_limit=8192) for _ in range(int(given[4:]))]
    tf.config.set_logical_device_configuration(card, parts)
    strategy = tf.distribute.MirroredStrategy([f"/gpu:{number}" for number in range(len(parts))])
elif given == "workers":
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
elif int(given):
    strategy = tf.distribute.MirroredStrategy()
else:
    strategy = tf.distribute.get_strategy()
with strategy.scope():
    tf.keras.utils.set_random_seed(0)
    kinds = tf.keras.layers
    if width == "cnn":
        layers = [kinds.Conv2D(256, 3, padding="same", activation="relu") for _ in range(4)]
        layers.append(kinds.GlobalAveragePooling2D())
    else:
        layers = [kinds.Dense(int(width), activation="relu") for _ in range(4)]
    model = tf.keras.Sequential([tf.keras.Input(SHAPE), *layers, kinds.Dense(10)])
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)


def replica_step(x, y):
    with tf.GradientTape() as tape:
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=model(x, training=True))
        loss = tf.nn.compute_average_loss(each, global_batch_size=BATCH)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@tf.function
def step(x, y):
    return strategy.reduce("SUM", strategy.run(replica_step, (x, y)), axis=None)


random = np.random.default_rng(0)
data = random.normal(size=(BATCH, *SHAPE)).astype("float32"), random.integers(0, 10, BATCH)
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(data).batch(BATCH))
(batch,) = list(dataset)
start = time.process_time()  # of one thread: what else the machine does is not counted
step.get_concrete_function(*batch)
traced = time.process_time() - start
before = CAPTURED_AFTER + 5 if given.startswith("card") else 3  # a card's steps are recorded when they have run a while
losses = [float(step(*batch)) for _ in range(before)]
seconds = []
for _ in range(turns):
    start = time.perf_counter()
    losses.append(float(step(*batch)))
    seconds.append(time.perf_counter() - start)


def side_by_side():
    """How many calls of a recorded step began while a call on another device went on."""
    recorded = []
    programs.listener = programs.Listener(
        lambda plan, recorder, way: recorded.append(recorder.events), lambda plan, seconds: None
    )
    for _ in range(4):  # not every run is recorded
        step(*batch)
    programs.listener = None
    events = sorted(recorded[-1], key=lambda event: event.start)
    return sum(
        any(other.start < event.start < other.end and other.call.device is not event.call.device for other in events)
        for event in events
    )


def kernels_side_by_side():
    """How many kernels of a step began while another one went on, as the card's own clock says."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
        step(*batch)
        torch.cuda.synchronize()
    times = [event.time_range for event in profiled.events() if event.device_type.name == "CUDA"]
    return sum(any(other.start < each.start < other.end for other in times) for each in times)


def weights_again():
    """The seconds that the weights of one more replica take: read twice, summed gradients, and an update of them."""
    size = sum(4 * int(np.prod(variable.shape)) for variable in model.trainable_variables)
    memory = torch.empty(2**26, device="cuda")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    memory.clone()
    begin.record()
    for _ in range(10):
        memory.clone()
    end.record()
    end.synchronize()
    bytes_a_second = 10 * 2 * memory.nbytes / (begin.elapsed_time(end) / 1e3)
    return (2 + 2 + 3) * size / bytes_a_second


if strategy.extended.should_checkpoint:
    found = {"traced": traced, "seconds": min(seconds), "losses": losses[:8]}
    if given == "2":
        found["together"] = side_by_side()
    if given == "card2":
        found["together"] = kernels_side_by_side()
        found["weights"] = weights_again()
    print(json.dumps(found), flush=True)
