"""Two towers on two GPUs, and a picture of when each of them worked.

    python examples/two_gpus.py [picture.svg]

Without cards the GPUs are virtual: CPU threads that follow the rules of GPUs. The trace is also written as a file for a
trace viewer (chrome://tracing, Perfetto) beside the picture.
"""

import sys
from pathlib import Path

import numpy as np

import situs.compat.v1 as tf
from situs.python.client import timeline

SIZE, LAYERS = 1024, 4
COLOURS = {"CPU": "#8d99ae", "GPU": "#2a9d8f", "copy": "#e9c46a"}


def towers():
    """The same chain of products on two GPUs, summed on the CPU."""
    x = tf.placeholder(tf.float32, [SIZE, SIZE], name="x")
    results = []
    for gpu in range(2):
        with tf.device(f"/gpu:{gpu}"), tf.name_scope(f"tower_{gpu}"):
            h = x
            for layer in range(LAYERS):
                h = tf.matmul(h, x, name=f"layer_{layer}")
            results.append(h)
    with tf.device("/cpu:0"):
        return x, tf.add_n(results, name="sum")


def traced_run():
    """The statistics of one run, after one that warms up."""
    x, total = towers()
    config = tf.ConfigProto(inter_op_parallelism_threads=2, use_per_session_threads=True)
    with tf.Session(config=config) as session:
        value = np.eye(SIZE, dtype=np.float32)
        session.run(total, {x: value})
        metadata = tf.RunMetadata()
        session.run(total, {x: value}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    return metadata.step_stats


def events(stats):
    """(device, name, start, length) of each operation, in microseconds from the first."""
    found = [
        (device.device.rpartition("device:")[2], node.node_name, node.all_start_micros, node.all_end_rel_micros)
        for device in stats.dev_stats
        for node in device.node_stats
    ]
    begin = min(start for _, _, start, _ in found)
    return [(device, name, start - begin, length) for device, name, start, length in found]


def overlap(found):
    """Microseconds in which both GPUs worked at once."""
    spans = [[(s, s + n) for d, name, s, n in found if d == gpu and "layer" in name] for gpu in ("GPU:0", "GPU:1")]
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in spans[0] for b in spans[1])


def picture(found):
    """The events as an SVG: a lane for each device, time from left to right."""
    devices = sorted({device for device, *_ in found})
    total = max(start + length for _, _, start, length in found)
    scale, lane = 800 / total, 34
    parts = [f'<text x="80" y="14">{total / 1000:.1f} ms, both GPUs at work for {overlap(found) / 1000:.1f} ms</text>']
    for row, device in enumerate(devices):
        y = 24 + row * lane
        parts.append(f'<text x="4" y="{y + 18}">{device}</text>')
        for where, name, start, length in found:
            if where == device:
                kind = "copy" if name.startswith("edge_") else device[:3]
                parts.append(
                    f'<rect x="{80 + start * scale:.1f}" y="{y}" width="{max(1.0, length * scale):.1f}" height="26" '
                    f'fill="{COLOURS[kind]}" stroke="white"><title>{name}: {length} us</title></rect>'
                )
                if length * scale > 60:
                    parts.append(
                        f'<text x="{84 + start * scale:.1f}" y="{y + 17}" fill="white">{name.rpartition("/")[2]}</text>'
                    )
    height = 30 + lane * len(devices)
    style = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{height}" {style}>\n{body}\n</svg>\n'


if __name__ == "__main__":
    if not tf.config.list_physical_devices("GPU"):
        tf.config.set_virtual_gpus(2)
    stats = traced_run()
    found = events(stats)
    for device, name, start, length in sorted(found, key=lambda event: event[2]):
        print(f"{start:>8} us  {device}  {name} ({length} us)")
    print(f"both GPUs at work for {overlap(found)} us")
    if len(sys.argv) > 1:
        path = Path(sys.argv[1])
        path.write_text(picture(found))
        path.with_suffix(".json").write_text(timeline.Timeline(stats).generate_chrome_trace_format())
