"""``tf.config.threading``: bounds on the threads of the CPU."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.config.threading import get_inter_op_parallelism_threads as get_inter_op_parallelism_threads
from situs._src.config.threading import get_intra_op_parallelism_threads as get_intra_op_parallelism_threads
from situs._src.config.threading import set_inter_op_parallelism_threads as set_inter_op_parallelism_threads
from situs._src.config.threading import set_intra_op_parallelism_threads as set_intra_op_parallelism_threads
