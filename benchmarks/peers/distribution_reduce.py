"""One process of a sum over processes: LIBRARY RANK COUNT PORT ELEMENTS TURNS. The first prints all seconds.

situs, tensorflow     MultiWorkerMirroredStrategy: all_reduce in a tf.function, on values of a replica
torch                 torch.distributed.all_reduce by gloo, in place
"""

import json
import os
import sys
import time

library, rank, count, port, elements, turns = sys.argv[1], *map(int, sys.argv[2:])


def told():
    """What TF_CONFIG says to this process."""
    workers = [f"127.0.0.1:{port + number}" for number in range(count)]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})


def with_strategy(tf):
    """A sum by TensorFlow's interface."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    given = tf.ones([elements])

    def replica(x):
        x = tf.identity(x)  # TensorFlow sums what has been placed
        return tf.distribute.get_replica_context().all_reduce("SUM", x)

    @tf.function
    def total(x):
        return strategy.run(replica, (x,))

    return lambda: float(total(given)[0])


def with_torch():
    """A sum by PyTorch alone."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=count)
    given = torch.ones(elements)

    def total():
        given.fill_(1.0)
        dist.all_reduce(given)
        return float(given[0])

    return total


if library == "torch":
    step = with_torch()
else:
    os.environ.update(TF_CONFIG=told(), TF_CPP_MIN_LOG_LEVEL="3", SITUS_VIRTUAL_GPUS="0", CUDA_VISIBLE_DEVICES="")
    if library == "situs":
        import situs as tf
    else:
        import tensorflow as tf
    step = with_strategy(tf)

seconds = []
for _ in range(turns + 2):
    start = time.perf_counter()
    found = step()
    seconds.append(time.perf_counter() - start)
    if found != count:
        sys.exit(f"The sum of {count} ones is {found}.")
if rank == 0:
    print(json.dumps(seconds[2:]), flush=True)
