"""Handwritten digits and a perceptron of three layers, in both dialects of TensorFlow.

    python examples/mnist_mlp.py                          tf.data, GradientTape, tf.function, Checkpoint
    python examples/mnist_mlp.py --style graph            placeholders, an iterator, a Session, Saver
    python examples/mnist_mlp.py --gpus 3                 a layer on each GPU
    python examples/mnist_mlp.py --data mnist/            the files of MNIST, *-ubyte or *-ubyte.gz
    python examples/mnist_mlp.py --checkpoints run/       saves there, and goes on from what is there

Without --data the digits are drawn on the spot. Without cards the GPUs are virtual: CPU threads that follow the rules
of GPUs. Look at what is not here: no line moves a tensor from one device to another, in either dialect.
"""

import argparse
import gzip
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

import situs as tf
import situs.compat.v1 as tf1

PIXELS, CLASSES = 28, 10
GLYPHS = """
###  #  ### ### # # ### ### ### ### ###
# # ##    #   # # # #   #     # # # # #
# #  #  ### ### ### ### ###  #  ### ###
# #  #  #     #   #   # # #  #  # #   #
### ### ### ###   # ### ###  #  ### ###
""".strip("\n").split("\n")


# The data.


def draw_digits(count, seed):
    """Digits of a tiny font, enlarged, moved about, more or less bright, in noise."""
    random = np.random.default_rng(seed)
    font = np.array([[[line[4 * digit + x] == "#" for x in range(3)] for line in GLYPHS] for digit in range(CLASSES)])
    labels = random.integers(0, CLASSES, count)
    images = random.uniform(0, 100, (count, PIXELS, PIXELS))
    for image, label in zip(images, labels, strict=True):
        glyph = font[label].repeat(4, axis=0).repeat(random.integers(4, 6), axis=1)  # 20 by 12 or 15 pixels
        top, left = random.integers([2, 4], [7, 11])
        image[top : top + glyph.shape[0], left : left + glyph.shape[1]] += glyph * random.uniform(60, 155)
    return images.astype(np.uint8), labels.astype(np.uint8)


def read_idx(path):
    """The array in a file of MNIST's format: zero, zero, dtype, rank; sizes; bytes. It may be compressed."""
    path = Path(path)
    content = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(path.name + ".gz").read_bytes())
    if content[:3] != b"\0\0\x08":
        raise SystemExit(f"{path} is not a file of MNIST: it begins with {content[:3]!r}, not with 0, 0, 8 (bytes).")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_digits(folder, name):
    """The images and labels of MNIST's files: `name` is "train" or "t10k"."""
    return tuple(read_idx(Path(folder) / f"{name}-{what}-ubyte") for what in ("images-idx3", "labels-idx1"))


def load(args):
    """Images (one row of floats each) and labels, for training and for testing."""
    if args.data:
        parts = read_digits(args.data, "train"), read_digits(args.data, "t10k")
    else:
        parts = draw_digits(4000, seed=0), draw_digits(1000, seed=1)
    return [(x.reshape(len(x), -1).astype(np.float32) / 255, y.astype(np.int64)) for x, y in parts]


# The eager dialect: ops run at once, or in a function that was traced into a graph.


class Perceptron:
    """Layers of weights, spread over devices."""

    def __init__(self, sizes, devices):
        self.layers = []
        for number, (inputs, outputs) in enumerate(pairwise(sizes)):
            with tf.device(devices[number * len(devices) // (len(sizes) - 1)]):
                weights = tf.Variable(tf.random.normal([inputs, outputs], stddev=(2 / inputs) ** 0.5), name="weights")
                self.layers.append((weights, tf.Variable(tf.zeros([outputs]), name="biases")))

    @property
    def variables(self):
        """The variables of all layers."""
        return [variable for layer in self.layers for variable in layer]

    def __call__(self, x):
        """Ten numbers for each image; each layer computes where its weights are."""
        for number, (weights, biases) in enumerate(self.layers):
            with tf.device(weights.device):
                x = tf.matmul(x, weights) + biases
                if number < len(self.layers) - 1:
                    x = tf.nn.relu(x)
        return x


def train_eagerly(args, train, test, devices):
    """A tape for gradients, and a checkpoint of the model and the optimizer together."""
    model = Perceptron([PIXELS**2, args.hidden, args.hidden, CLASSES], devices)
    optimizer = tf.optimizers.Adam(0.001)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    manager = tf.train.CheckpointManager(checkpoint, args.checkpoints, max_to_keep=2)
    if path := manager.restore_or_initialize():
        print("going on from", path)

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(images))
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.variables)
        optimizer.apply_gradients(zip(gradients, model.variables, strict=True))
        return loss

    @tf.function
    def accuracy(images, labels):
        return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(model(images), axis=1), labels), tf.float32))

    batches = tf.data.Dataset.from_tensor_slices(train).shuffle(10_000, seed=0).repeat()
    batches = batches.batch(args.batch, drop_remainder=True).take(args.steps).prefetch(2)
    for number, (images, labels) in enumerate(batches, start=1):
        loss = step(images, labels)
        if number % 100 == 0 or number == args.steps:
            print(f"step {int(optimizer.iterations)}: loss {float(loss):.3f}")
            manager.save()

    print(f"accuracy {float(accuracy(*test)):.3f}")
    print("ops ran on", count_devices(tf.explain()))


# The graph dialect: a graph is written down, and a session runs parts of it.


def perceptron(x, sizes, devices):
    """The same layers; get_variable finds them by their names when the scope is entered again."""
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        device = devices[number * len(devices) // (len(sizes) - 1)]
        with tf1.device(device), tf1.variable_scope(f"layer_{number}", reuse=tf1.AUTO_REUSE):
            weights = tf1.get_variable(
                "weights", [inputs, outputs], initializer=tf1.random_normal_initializer(0.0, (2 / inputs) ** 0.5)
            )
            x = tf1.matmul(x, weights) + tf1.get_variable("biases", [outputs], initializer=tf1.zeros_initializer())
            x = tf1.nn.relu(x) if number < len(sizes) - 2 else x
    return x


def train_in_a_graph(args, train, test, devices):
    """An iterator that is initialized with the data, an operation that trains, and a saver of variables by name."""
    sizes = [PIXELS**2, args.hidden, args.hidden, CLASSES]
    images = tf1.placeholder(tf.float32, [None, PIXELS**2], name="images")
    labels = tf1.placeholder(tf.int64, [None], name="labels")
    dataset = tf1.data.Dataset.from_tensor_slices((images, labels)).shuffle(10_000, seed=0).repeat()
    iterator = dataset.batch(args.batch, drop_remainder=True).prefetch(2).make_initializable_iterator()
    x, y = iterator.get_next()
    losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=perceptron(x, sizes, devices))
    loss = tf1.reduce_mean(losses, name="loss")
    global_step = tf1.train.get_or_create_global_step()
    train_op = tf1.train.AdamOptimizer(0.001).minimize(loss, global_step=global_step)
    right = tf1.equal(tf1.argmax(perceptron(images, sizes, devices), axis=1), labels)
    accuracy = tf1.reduce_mean(tf1.cast(right, tf.float32), name="accuracy")

    saver = tf1.train.Saver(max_to_keep=2)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        if path := tf1.train.latest_checkpoint(args.checkpoints):
            print("going on from", path)
            saver.restore(session, path)
        session.run(iterator.initializer, {images: train[0], labels: train[1]})
        for number in range(1, args.steps + 1):
            _, value, done = session.run([train_op, loss, global_step])
            if number % 100 == 0 or number == args.steps:
                print(f"step {done}: loss {value:.3f}")
                saver.save(session, str(Path(args.checkpoints) / "mlp"), global_step, write_meta_graph=False)
        print(f"accuracy {session.run(accuracy, {images: test[0], labels: test[1]}):.3f}")
        print("operations ran on", count_devices(session.placement().values()))


# What both share.


def count_devices(assignments):
    """How many ops each device had: {'GPU:0': 31, 'CPU:0': 4}."""
    return dict(Counter(assignment.device.short_name for assignment in assignments))


def use_gpus(count):
    """The names of so many GPUs: cards, or virtual ones where there are none. The CPU, for no GPUs."""
    if cards := tf.config.list_physical_devices("GPU"):
        tf.config.set_visible_devices(cards[:count], "GPU")
    else:
        tf.config.set_virtual_gpus(count)
    return [gpu.name for gpu in tf.config.list_logical_devices("GPU")] or ["/cpu:0"]


def main():
    """Trains in the style that was asked for."""
    parser = argparse.ArgumentParser(description="Digits, by a perceptron of three layers.")
    parser.add_argument("--style", choices=["eager", "graph"], default="eager")
    parser.add_argument("--gpus", type=int, default=1, help="virtual where there are no cards; 0 for the CPU")
    parser.add_argument("--data", help="the folder with the files of MNIST")
    parser.add_argument("--checkpoints", help="the folder to save to and to go on from")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=256)
    args = parser.parse_args()

    devices = use_gpus(args.gpus)
    train, test = load(args)
    with tempfile.TemporaryDirectory() as folder:
        args.checkpoints = args.checkpoints or folder
        if args.style == "eager":
            tf.random.set_seed(0)
            train_eagerly(args, train, test, devices)
        else:
            tf1.set_random_seed(0)
            train_in_a_graph(args, train, test, devices)


if __name__ == "__main__":
    main()
