"""Where the time of a batch of Keras' `fit` goes on Situs, in microseconds: prints a table.

    python -m situs run benchmarks/peers/keras_pieces.py [mlp|cnn|lstm|tiny] [BATCHES] [--pageable]

`--pageable` lets a card take batches from ordinary memory, as a comparison: by default they go through pinned memory.
Each piece is a function whose calls are timed, inside of others; what is left of the outer one is its own. On a card
the figures are those of the host: a piece that waits for the card shows the wait. The first line is `fit` without any
of this, the last one what a call of `fit` with one batch takes of the CPU.
"""

import sys
import time
from pathlib import Path

import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import keras_fit

from situs._src.data import cursor, iterator_ops, optional
from situs._src.runtime.run import cuda_graph, program, staging
from situs._src.tracing import function

ROUNDS = 5
WIDTH = 60


def tiny():
    """A network that computes next to nothing: what is left is what a batch costs at all."""
    layers = [keras.layers.Dense(8, activation="relu"), keras.layers.Dense(10)]
    return keras.Sequential([keras.Input((8,)), *layers]), (8,), 4, 400


class Clock:
    """Seconds and calls by the name of a piece."""

    def __init__(self):
        self.seconds, self.calls = {}, {}

    def around(self, name, call):
        """The same function, timed."""

        def timed(*args, **kwargs):
            start = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
                self.calls[name] = self.calls.get(name, 0) + 1

        return timed

    def inside(self, owner, attribute, name):
        """Puts the timed function in the place of another."""
        setattr(owner, attribute, self.around(name, getattr(owner, attribute)))


# Each piece: how far inside, what it is called, and where it stands.
def pieces(model):
    """The functions that are timed."""
    epochs = keras.src.backend.tensorflow.trainer.TFEpochIterator
    told = keras.callbacks.CallbackList
    return [
        (0, "Keras' epoch iterator", epochs, "__next__"),
        (0, "callbacks, before the batch", told, "on_train_batch_begin"),
        (0, "train_function", model, "train_function"),
        (1, "call of the tf.function", function.Function, "__call__"),
        (2, "program", program.Program, "run"),
        (3, "next batch", cursor.Cursor, "pull"),
        (3, "copy of the batch, where eager", iterator_ops, "brought"),
        (3, "copy of the batch, into a CUDA graph", cuda_graph.Captured, "_copy_in"),
        (3, "replay of a CUDA graph", cuda_graph.Captured, "_replay_on"),
        (3, "recording of a CUDA graph", cuda_graph.CapturedProgram, "_capture"),
        (1, "whether there was a batch", optional.Optional, "has_value"),
        (1, "its logs", optional.Optional, "get_value"),
        (0, "callbacks, after the batch", told, "on_train_batch_end"),
    ]


def best(call, batches):
    """The least microseconds of a batch, of the clock and of the CPU."""
    found = []
    for _ in range(ROUNDS):
        start, started = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - start, time.process_time() - started))
    return [min(each) / batches * 1e6 for each in zip(*found, strict=True)]


def main():
    """Measures the model that the command line names."""
    given = [word for word in sys.argv[1:] if word != "--pageable"]
    if "--pageable" in sys.argv:
        staging.crosses = lambda device: False
    name = given[0] if given else "tiny"
    models = {"mlp": keras_fit.mlp, "cnn": keras_fit.cnn, "lstm": keras_fit.lstm, "tiny": tiny}
    model, shape, batch, batches = models[name]()
    batches = int(given[1]) if len(given) > 1 else batches
    numbers = np.random.default_rng(0)
    x = numbers.normal(size=(batch * batches, *shape)).astype("float32")
    y = numbers.integers(0, 10, batch * batches)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss)

    def fit(count=batches):
        model.fit(x[: count * batch], y[: count * batch], batch_size=batch, shuffle=False, verbose=0)

    for _ in range(3):
        fit()
    whole, cpu = best(fit, batches)
    fixed = best(lambda: fit(1), 1)[1]
    bare = keras_fit.bare_step(model, loss, x[:batch], y[:batch]) * 1e6

    clock = Clock()
    table = pieces(model)
    for _, piece, owner, attribute in table:
        clock.inside(owner, attribute, piece)
    fit()
    clock.seconds, clock.calls = {}, {}
    start = time.perf_counter()
    for _ in range(ROUNDS):
        fit()
    timed = (time.perf_counter() - start) / ROUNDS / batches * 1e6

    def line(depth, what, microseconds, calls=""):
        print(f"{'  ' * depth + what:{WIDTH}}{microseconds:>12.1f}{calls:>12}")

    print(f"{f'{name}, batches of {batch}, {batches} in an epoch':{WIDTH}}{'us a batch':>12}{'calls':>12}")
    line(0, "fit", whole)
    line(0, "fit, of the CPU", cpu)
    line(0, "a step alone", bare)
    line(0, f"fit takes {whole / bare:.2f}x; while it is timed:", timed)
    for depth, piece, _, _ in table:
        if piece in clock.seconds:
            per_batch = clock.seconds[piece] / ROUNDS / batches * 1e6
            line(depth + 1, piece, per_batch, f"{clock.calls[piece] / ROUNDS / batches:.2f}")
    outer = sum(clock.seconds.get(piece, 0.0) for depth, piece, _, _ in table if depth == 0)
    line(1, "the rest of fit: its loop, and what it does once", timed - outer / ROUNDS / batches * 1e6)
    line(0, "a call of fit with one batch, of the CPU", fixed)


if __name__ == "__main__":
    main()
