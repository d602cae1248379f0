"""``tf.distribute.cluster_resolver``: who the tasks of a program are, and which of them this process is."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.distribute.cluster_resolver import ClusterResolver as ClusterResolver
from situs._src.distribute.cluster_resolver import SimpleClusterResolver as SimpleClusterResolver
from situs._src.distribute.cluster_resolver import SlurmClusterResolver as SlurmClusterResolver
from situs._src.distribute.cluster_resolver import TFConfigClusterResolver as TFConfigClusterResolver
