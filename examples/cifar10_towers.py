"""Small colour pictures and a convolutional network, trained by several GPUs at once, in TensorFlow 1's dialect.

    python examples/cifar10_towers.py --gpus 2               a tower on each GPU, variables on the CPU
    python examples/cifar10_towers.py --gpus 2 --home /gpu:0 variables, averaged gradients and updates on the first GPU
    python examples/cifar10_towers.py --data cifar-10/       the files of CIFAR-10 (binary version), *.bin
    python examples/cifar10_towers.py --plain --gpus 1 --batch 64     the same losses as of two towers with 32 each

                        +-- tower 0 (GPU:0): its own batch, loss, gradients --+
    variables (home) ---+                                                     +--- averages, updates (home)
                        +-- tower 1 (GPU:1): its own batch, loss, gradients --+

Every tower reads the same variables, and a session copies what has to move. The test is another graph, on one device,
into which the moving averages of the variables are restored.

Without --data the pictures are drawn on the spot: ten kinds of coloured shapes. Without cards the GPUs are virtual:
CPU threads that follow the rules of GPUs.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

from cifar10_data import CLASSES, PIXELS, load

import situs.compat.v1 as tf

CROP = 24
WEIGHT_DECAY, AVERAGE_DECAY = 0.004, 0.95


# The data.


def middle(images):
    """The middle of pictures, as numbers around zero."""
    edge = (PIXELS - CROP) // 2
    return standardized(images[..., edge:-edge, edge:-edge, :])


def distorted(image, label):
    """A part of a picture, perhaps mirrored: the network never sees the same one twice."""
    image = tf.random_crop(image, [CROP, CROP, 3])
    image = tf.cond(tf.random_uniform([]) < 0.5, lambda: tf.reverse(image, [1]), lambda: image)
    return standardized(image), label


def standardized(images):
    """Pixels as numbers around zero."""
    return (tf.cast(images, tf.float32) - 120.0) / 70.0


# The network. `home` is the device that keeps the variables.


def variable(name, shape, home, deviation=0.0, start=0.0, decayed=False):
    """A variable, which the second tower finds by its name; a decayed one adds its size to the losses."""
    with tf.device(home):
        found = tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(start, deviation))
    if decayed:
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(found), WEIGHT_DECAY, name="weight_decay"))
    return found


def network(x, home):
    """Two convolutions with pooling, two wide layers, and ten numbers for each picture."""
    for name, channels in ("conv1", 3), ("conv2", 64):
        with tf.variable_scope(name):
            kernel = variable("weights", [5, 5, channels, 64], home, deviation=(2 / (25 * channels)) ** 0.5)
            x = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
            x = tf.nn.relu(tf.nn.bias_add(x, variable("biases", [64], home)))
            x = tf.nn.max_pool(x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool")
    x = tf.reshape(x, [-1, (CROP // 4) ** 2 * 64])
    for name, width in ("local3", 384), ("local4", 192), ("logits", CLASSES):
        with tf.variable_scope(name):
            inputs = int(x.shape[1])
            weights = variable("weights", [inputs, width], home, (2 / inputs) ** 0.5, decayed=name != "logits")
            x = tf.matmul(x, weights) + variable("biases", [width], home)
            x = x if name == "logits" else tf.nn.relu(x)
    return x


def tower_loss(images, labels, home, scope):
    """What one tower minimizes: the cross entropy of its batch, and the losses that its variables have added."""
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=network(images, home))
    tf.add_to_collection("losses", tf.reduce_mean(entropy, name="cross_entropy"))
    return tf.add_n(tf.get_collection("losses", scope), name="total_loss")


def average_gradients(towers):
    """[[(gradient, variable), ...] of each tower] -> [(mean gradient, variable), ...]."""
    return [
        (tf.reduce_mean(tf.stack([gradient for gradient, _ in pairs]), axis=0), pairs[0][1])
        for pairs in zip(*towers, strict=True)
    ]


# Training and testing.


def train(args, data, devices, home):
    """Builds the towers and runs them; returns the checkpoint that it leaves."""
    with tf.device("/cpu:0"):
        dataset = tf.data.Dataset.from_tensor_slices(data)
        if args.plain:
            dataset = dataset.map(lambda image, label: (middle(image), label)).repeat()
        else:
            dataset = dataset.shuffle(10_000, seed=0).repeat().map(distorted, num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset.batch(args.batch, drop_remainder=True).prefetch(4)
        iterator = tf.data.make_one_shot_iterator(dataset)
    with tf.device(home):
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.01, step, decay_steps=args.steps * 3 // 4, decay_rate=0.3, staircase=True)
        optimizer = tf.train.MomentumOptimizer(rate, momentum=0.9)

    gradients, losses = [], []
    for number, device in enumerate(devices):
        with tf.variable_scope("cnn", reuse=number > 0), tf.device(device), tf.name_scope(f"tower_{number}") as scope:
            losses.append(tower_loss(*iterator.get_next(), home, scope))
            gradients.append(optimizer.compute_gradients(losses[-1]))

    with tf.device(home):
        update = optimizer.apply_gradients(average_gradients(gradients), global_step=step)
        averages = tf.train.ExponentialMovingAverage(AVERAGE_DECAY, step)
        with tf.control_dependencies([update]):
            train_op = averages.apply(tf.trainable_variables())
        loss = tf.add_n(losses) / len(losses)

    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        done, start = 0, time.perf_counter()
        for number in range(1, args.steps + 1):
            _, value = session.run([train_op, loss])
            if number % 20 == 0 or number == args.steps:
                taken = (time.perf_counter() - start) / (number - done)
                print(f"step {number}: loss {value:.6f}, rate {session.run(rate):.4f}, {1000 * taken:.1f} ms a step")
                done, start = number, time.perf_counter()
        used = Counter(assignment.device.short_name for assignment in session.placement().values())
        print("operations ran on", dict(used))
        return saver.save(session, str(Path(args.checkpoints) / "cnn"), step, write_meta_graph=False)


def test(checkpoint, images, labels, device):
    """The accuracy of the averaged variables, in a graph without towers."""
    with tf.Graph().as_default(), tf.device(device):
        with tf.variable_scope("cnn"):
            right = tf.equal(tf.argmax(network(middle(images), device), axis=1), labels)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        averages = tf.train.ExponentialMovingAverage(AVERAGE_DECAY)
        with tf.Session() as session:
            tf.train.Saver(averages.variables_to_restore()).restore(session, checkpoint)
            return session.run(accuracy)


def use_gpus(count):
    """The names of so many GPUs: cards, or virtual ones where there are none. The CPU, for no GPUs."""
    if cards := tf.config.list_physical_devices("GPU"):
        tf.config.set_visible_devices(cards[:count], "GPU")
    else:
        tf.config.set_virtual_gpus(count)
    return [gpu.name for gpu in tf.config.list_logical_devices("GPU")] or ["/cpu:0"]


def main():
    """Trains, then tests what was saved."""
    parser = argparse.ArgumentParser(description="Pictures, by a convolutional network on several GPUs.")
    parser.add_argument("--gpus", type=int, default=2, help="virtual where there are no cards; 0 for the CPU")
    parser.add_argument("--home", help="the device of the variables; the CPU if there are several towers")
    parser.add_argument("--data", help="the folder with the binary files of CIFAR-10")
    parser.add_argument("--checkpoints", help="the folder to save to")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--batch", type=int, default=32, help="pictures for each tower")
    parser.add_argument("--plain", action="store_true", help="pictures in their order and as they are: towers add up")
    args = parser.parse_args()

    devices = use_gpus(args.gpus)
    home = args.home or (devices[0] if len(devices) == 1 else "/cpu:0")
    examples, (images, labels) = load(args.data)
    tf.set_random_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        args.checkpoints = args.checkpoints or folder
        checkpoint = train(args, examples, devices, home)
        print(f"accuracy {test(checkpoint, images, labels, devices[0]):.3f}")


if __name__ == "__main__":
    main()
