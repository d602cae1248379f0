"""A model over two GPUs, and a picture of what filled their memory.

    python examples/memory_picture.py [picture.svg]

Without cards the GPUs are virtual: CPU threads that follow the rules of GPUs. The picture may also be a page with
tables (.html) or the data (.json).
"""

import sys

import situs as tf

BATCH, WIDTH, LAYERS, STEPS = 2048, 1024, 4, 3


def model():
    """The weights of some layers, the first half of them on one GPU, the others on the next."""
    weights = []
    for number in range(LAYERS):
        with tf.device(f"/gpu:{2 * number // LAYERS}"):
            weights.append(tf.Variable(tf.random.normal([WIDTH, WIDTH]), name=f"layer_{number}"))
    return weights


def forward(weights, batch):
    """What every layer makes of a batch; all of it is kept, as training would."""
    kept = [batch]
    for weight in weights:
        with tf.device(weight.device):
            kept.append(tf.nn.relu(tf.matmul(kept[-1], weight)))
    return kept


def main():
    """Some batches through the model, recorded."""
    with tf.memory.record() as recording:
        weights = model()
        for _ in range(STEPS):
            with tf.device("/gpu:0"):
                batch = tf.random.uniform([BATCH, WIDTH])
            kept = forward(weights, batch)
            with tf.device(kept[-1].device):
                print(f"mean {tf.reduce_mean(kept[-1]).numpy():.1f}")
            del kept, batch
    return recording


if __name__ == "__main__":
    if not tf.config.list_physical_devices("GPU"):
        tf.config.set_virtual_gpus(2, memory="64MiB")
    recording = main()
    print(recording)
    if len(sys.argv) > 1:
        recording.save(sys.argv[1])
