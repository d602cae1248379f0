"""The network of ``cifar10_towers.py`` as a Keras model, with a replica on each GPU.

    python examples/cifar10_mirrored.py --gpus 2
    python examples/cifar10_mirrored.py --gpus 0              one device: the same losses, to 1e-5
    python examples/cifar10_mirrored.py --data cifar-10/      the files of CIFAR-10 (binary version), *.bin

`MirroredStrategy` gives every GPU a copy of the variables and its part of each batch, and adds the gradients up. The
model is made and compiled in the scope of the strategy; nothing else knows of it. Without cards the GPUs are virtual.
"""

import argparse

from cifar10_data import CLASSES, PIXELS, load

import situs as tf


def network():
    """Two convolutions with pooling, two wide layers, and ten numbers for each picture."""
    layers = tf.keras.layers
    model = [tf.keras.Input((PIXELS, PIXELS, 3)), layers.Rescaling(1 / 70, offset=-120 / 70)]
    for _ in range(2):
        model += [layers.Conv2D(64, 5, padding="same", activation="relu"), layers.MaxPooling2D(3, 2, "same")]
    model += [layers.Flatten(), layers.Dense(384, "relu"), layers.Dense(192, "relu"), layers.Dense(CLASSES)]
    return tf.keras.Sequential(model)


def strategy_for(gpus):
    """A replica on each of so many GPUs: cards, or virtual ones where there are none. One on the CPU, for no GPUs."""
    if not gpus:
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    if not tf.config.list_physical_devices("GPU"):
        tf.config.set_virtual_gpus(gpus)
    return tf.distribute.MirroredStrategy([f"/gpu:{number}" for number in range(gpus)])


def main():
    """Trains and tests."""
    parser = argparse.ArgumentParser(description="Pictures, by a Keras model on several GPUs.")
    parser.add_argument("--gpus", type=int, default=2, help="virtual where there are no cards; 0 for the CPU")
    parser.add_argument("--data", help="the folder with the binary files of CIFAR-10")
    parser.add_argument("--batch", type=int, default=64, help="pictures in a batch of all replicas together")
    parser.add_argument("--steps", type=int, default=60, help="batches of an epoch")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    strategy = strategy_for(args.gpus)
    (images, labels), (tests, test_labels) = load(args.data)
    tf.keras.utils.set_random_seed(0)
    with strategy.scope():
        model = network()
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.SGD(0.01, momentum=0.9), loss, metrics=["accuracy"])
    batches = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(args.batch, drop_remainder=True)
    history = model.fit(batches, steps_per_epoch=args.steps, epochs=args.epochs, shuffle=False, verbose=0).history
    for number, value in enumerate(history["loss"], 1):
        print(f"epoch {number}: loss {value:.6f}")
    print("replicas ran on", ", ".join(name.rpartition("device:")[2] for name in strategy.extended.worker_devices))
    print(f"accuracy {model.evaluate(tests, test_labels, batch_size=100, verbose=0)[1]:.3f}")


if __name__ == "__main__":
    main()
