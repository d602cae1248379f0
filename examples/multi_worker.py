"""One training program in several processes, on one machine or on many.

    situs launch -n 2 examples/multi_worker.py          two processes on this machine
    python examples/multi_worker.py                     one process: the same losses, to 1e-5

On several machines, start it on each of them with ``TF_CONFIG``, or under torchrun or Slurm. Every process makes the
same model; the chief's first values hold. Each gets its part of every batch, and gradients are added up. The
chief writes the backup, from which all go on when the program is started again after a failure.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import situs as tf


def noisy_waves(count):
    """Points of a function of two numbers, with noise."""
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, (count, 2)).astype(np.float32)
    return x, (np.sin(3 * x[:, :1]) * x[:, 1:] + random.normal(0, 0.05, (count, 1))).astype(np.float32)


def main():
    """Trains."""
    parser = argparse.ArgumentParser(description="A function, learnt by several processes.")
    parser.add_argument("--batch", type=int, default=64, help="points in a batch of all processes together")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--backup", default=Path(tempfile.gettempdir()) / "situs_multi_worker", help="a shared folder")
    args = parser.parse_args()

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        tf.keras.utils.set_random_seed(0)
        layers = [tf.keras.layers.Dense(32, "tanh"), tf.keras.layers.Dense(32, "tanh"), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential([tf.keras.Input((2,)), *layers])
        model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    batches = tf.data.Dataset.from_tensor_slices(noisy_waves(1024)).batch(args.batch)
    backup = tf.keras.callbacks.BackupAndRestore(args.backup)
    history = model.fit(batches, epochs=args.epochs, shuffle=False, verbose=0, callbacks=[backup]).history
    if strategy.extended.should_checkpoint:  # the chief speaks for all
        for number, value in enumerate(history["loss"], 1):
            print(f"epoch {number}: loss {value:.6f}", flush=True)
        print("replicas", strategy.num_replicas_in_sync, flush=True)


if __name__ == "__main__":
    main()
