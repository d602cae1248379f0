"""A training loop of one's own under a strategy: `run` on every replica, `reduce` for what all of them found.

python examples/custom_loop.py --gpus 2
python examples/custom_loop.py --gpus 0         one device: the same losses, to 1e-5

      batch of 64  --split-->  32 on GPU:0: loss, gradients --.              .--> update of its variables
                               32 on GPU:1: loss, gradients --+-- all_reduce +--> the same update of its own
"""

import argparse

import numpy as np
from cifar10_mirrored import strategy_for

import situs as tf


def spirals(count, seed):
    """Points of three intertwined spirals, and on which each lies."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, count)
    radius = random.uniform(0.1, 1.0, count)
    angle = 4 * radius + labels * 2 * np.pi / 3 + random.normal(0, 0.1, count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32), labels


def main():
    """Trains and tests."""
    parser = argparse.ArgumentParser(description="Spirals, by a loop of one's own on several GPUs.")
    parser.add_argument("--gpus", type=int, default=2, help="virtual where there are no cards; 0 for the CPU")
    parser.add_argument("--batch", type=int, default=64, help="points in a batch of all replicas together")
    parser.add_argument("--epochs", type=int, default=40)
    args = parser.parse_args()

    strategy = strategy_for(args.gpus)
    dataset = tf.data.Dataset.from_tensor_slices(spirals(1024, seed=0)).batch(args.batch)
    dataset = strategy.experimental_distribute_dataset(dataset)
    tf.keras.utils.set_random_seed(0)
    with strategy.scope():
        layers = [tf.keras.layers.Dense(64, "tanh"), tf.keras.layers.Dense(64, "tanh"), tf.keras.layers.Dense(3)]
        model = tf.keras.Sequential([tf.keras.Input((2,)), *layers])
        optimizer = tf.keras.optimizers.Adam(0.01)
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

    def replica_step(points, labels):
        with tf.GradientTape() as tape:
            logits = model(points, training=True)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.nn.compute_average_loss(each, global_batch_size=args.batch)  # not the replica's own mean
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        accuracy.update_state(labels, logits)
        return loss

    @tf.function
    def step(points, labels):
        return strategy.reduce("SUM", strategy.run(replica_step, (points, labels)), axis=None)

    for epoch in range(1, args.epochs + 1):
        accuracy.reset_state()
        losses = [float(step(points, labels)) for points, labels in dataset]
        if epoch in (1, args.epochs):
            print(f"epoch {epoch}: loss {np.mean(losses):.6f}, accuracy {float(accuracy.result()):.3f}")
    print("replicas ran on", ", ".join(name.rpartition("device:")[2] for name in strategy.extended.worker_devices))


if __name__ == "__main__":
    main()
