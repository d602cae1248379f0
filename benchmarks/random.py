"""Random numbers with a seed, which are TensorFlow's, against PyTorch's own generator; and without one.

    python -m benchmarks.random [--count N] [--turns N]

Each way draws so many numbers of float32, a few times; the shortest time counts. "portable" is by PyTorch's ops, as
where no C compiler is found, or on a card no Triton. Without a seed the generator is PyTorch's, and what is measured is
what Situs adds to it.

On a card a second table says where the time goes: what the host takes to order a draw, without waiting for it, in
microseconds; what the card takes for it, by CUDA's events, over many draws in a row; and from order to result.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

import situs as tf
from benchmarks.report import Bar, print_bars, print_machine
from situs._src.ops.philox import card, compiled
from situs._src.ops.philox import draw as philox
from situs._src.ops.philox.words import scrambled

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST_BAR, CARD_BAR = 3.0, 1.5  # of PyTorch's time for normal numbers
SMALL = 8  # numbers of a draw whose cost is calling it
WARM, IN_A_ROW = 10, 50  # draws: before the first is timed, and between two events
AHEAD = 20_000_000  # cycles that a card waits for the host: some 10 ms
PLACE = scrambled(1, 2)
DRAWS_WITH_SEEDS = ("stateless_normal", "random.normal(seed=3)", "Generator.normal")


def shortest(call: Callable[[], Any], turns: int, wait: Callable[[], None]) -> float:
    """Seconds of the quickest of some calls."""
    best = float("inf")
    for _ in range(turns):
        wait()
        start = time.perf_counter()
        call()
        wait()
        best = min(best, time.perf_counter() - start)
    return best


@contextmanager
def portable() -> Iterator[None]:
    """Draws by PyTorch's ops."""
    found, card._found = card._found, None
    os.environ["SITUS_NO_COMPILER"] = "1"
    try:
        yield
    finally:
        card._found = found
        del os.environ["SITUS_NO_COMPILER"]


def microseconds_apart(call: Callable[[], Any], turns: int) -> tuple[float, float, float]:
    """Of a draw on a card: the host's time to order it, the card's for it, and both together with waiting."""
    event: Any = torch.cuda.Event
    for _ in range(WARM):
        call()
    torch.cuda.synchronize()
    hosts, cards = [], []
    for _ in range(turns):
        begin, end = event(enable_timing=True), event(enable_timing=True)
        torch.cuda._sleep(AHEAD)  # the card is busy while the host orders, so that it does not wait for the host
        begin.record()
        start = time.perf_counter()
        for _ in range(IN_A_ROW):
            call()
        hosts.append((time.perf_counter() - start) / IN_A_ROW)
        end.record()
        end.synchronize()
        cards.append(begin.elapsed_time(end) / 1000 / IN_A_ROW)
    whole = shortest(call, turns, torch.cuda.synchronize)
    return 1e6 * min(hosts), 1e6 * min(cards), 1e6 * whole


def where_time_goes(count: int, turns: int) -> list[Bar]:
    """Prints the second table, and returns the bars of its draws."""
    generator = tf.random.Generator.from_seed(1)
    draws: dict[str, Callable[[], Any]] = {
        "torch.randn": lambda: torch.randn(count, device="cuda"),
        "stateless_normal": lambda: tf.random.stateless_normal([count], [1, 2]),
        "random.normal(seed=3)": lambda: tf.random.normal([count], seed=3),
        "Generator.normal": lambda: generator.normal([count]),
        "the kernel alone": lambda: philox.normal((count,), torch.float32, PLACE, torch.device("cuda", 0)),
        "torch.empty": lambda: torch.empty(count, device="cuda"),
    }
    print(f"\nGPU, {count} normals, us{'host':>30}      card  together")
    found = {}
    with tf.device("/GPU:0"):
        for name, call in draws.items():
            found[name] = microseconds_apart(call, turns)
            print(f"{name:<42}" + " ".join(f"{each:9.1f}" for each in found[name]))
    peer = found["torch.randn"][-1]
    return [Bar(f"{name}, GPU", found[name][-1] / peer, CARD_BAR, "x torch") for name in DRAWS_WITH_SEEDS]


def measured(device: str, count: int, turns: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each draw, by each way."""
    at = "cuda" if device == "GPU" else "cpu"
    wait = torch.cuda.synchronize if device == "GPU" else lambda: None
    seed = [1, 2]
    draws: dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]] = {
        "normal": (
            lambda: torch.randn(count, device=at),
            lambda: tf.random.stateless_normal([count], seed),
            lambda: tf.random.normal([count]),
        ),
        "uniform": (
            lambda: torch.rand(count, device=at),
            lambda: tf.random.stateless_uniform([count], seed),
            lambda: tf.random.uniform([count]),
        ),
        "truncated normal": (
            lambda: torch.nn.init.trunc_normal_(torch.empty(count, device=at), a=-2.0, b=2.0),
            lambda: tf.random.stateless_truncated_normal([count], seed),
            lambda: tf.random.truncated_normal([count]),
        ),
        "integers below 1000": (
            lambda: torch.randint(1000, (count,), dtype=torch.int32, device=at),
            lambda: tf.random.stateless_uniform([count], seed, 0, 1000, tf.int32),
            lambda: tf.random.uniform([count], 0, 1000, tf.int32),
        ),
        f"normal, {SMALL} of them": (
            lambda: torch.randn(SMALL, device=at),
            lambda: tf.random.stateless_normal([SMALL], seed),
            lambda: tf.random.normal([SMALL]),
        ),
    }
    found: dict[str, dict[str, float]] = {}
    with tf.device(f"/{device}:0"):
        for name, (peer, seeded, unseeded) in draws.items():
            rows = {"torch": shortest(peer, turns, wait), "seeded": shortest(seeded, turns, wait)}
            rows["unseeded"] = shortest(unseeded, turns, wait)
            with portable():
                rows["portable"] = shortest(seeded, turns, wait)
            found[name] = {way: 1000 * seconds for way, seconds in rows.items()}
    return found


def main() -> None:
    """Prints a table for each device, and the bars."""
    parser = argparse.ArgumentParser(description="Random numbers with a seed against PyTorch's generator")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=15)
    asked = parser.parse_args()
    print_machine()
    print("C:", "compiled" if compiled.functions() else "no compiler", "Triton:", "yes" if card.functions() else "no")
    bars = []
    has_card = torch.cuda.is_available()
    for device in ("CPU", "GPU") if has_card else ("CPU",):
        rows = measured(device, asked.count, asked.turns)
        print(f"\n{device}, {asked.count} numbers, ms{'torch':>19}    seeded  unseeded  portable  seeded/torch")
        for name, row in rows.items():
            times = " ".join(f"{row[way]:9.3f}" for way in ("torch", "seeded", "unseeded", "portable"))
            print(f"{name:<36}{times} {row['seeded'] / row['torch']:13.2f}")
        ratio = rows["normal"]["seeded"] / rows["normal"]["torch"]
        bars.append(Bar(f"seeded normals, {device}", ratio, CARD_BAR if device == "GPU" else HOST_BAR, "x torch"))
    if has_card:
        bars += where_time_goes(asked.count, asked.turns)
    print_bars(bars)


if __name__ == "__main__":
    main()
