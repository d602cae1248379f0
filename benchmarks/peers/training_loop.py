"""How a step is measured, in every library: prints, as JSON, seconds a step and the first losses.

    python training_torch.py mlp

A peer defines a function for each model that returns a step without arguments; the step returns the loss, which
`finish` reads as a number. Steps follow each other without waiting, and the last loss of a round is read.
"""

import json
import sys
import time

FIRST = 5  # losses that are compared
ROUNDS = 5
AT_LEAST = 0.5  # seconds a round


def main(models, finish=float, memory=lambda: None):
    """Measures the model that the command line names."""
    step = models[sys.argv[1]]()
    losses = [finish(step()) for _ in range(FIRST)]
    for _ in range(25):
        last = step()
    finish(last)
    taken = memory()
    print(json.dumps({"seconds": best(step, finish), "losses": losses, "bytes": taken}))


def best(step, finish):
    """Seconds a step, in the best of some rounds."""
    steps, times = 1, []
    while len(times) < ROUNDS:
        start = time.perf_counter()
        for _ in range(steps):
            last = step()
        finish(last)
        spent = time.perf_counter() - start
        if spent < AT_LEAST and not times:
            steps = max(steps + 1, min(steps * 4, int(steps * AT_LEAST / spent) + 1))
            continue
        times.append(spent / steps)
    return min(times)
