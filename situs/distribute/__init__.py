"""``tf.distribute``: one program over many devices."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.distribute.absent import ParameterServerStrategy as ParameterServerStrategy
from situs._src.distribute.absent import TPUStrategy as TPUStrategy
from situs._src.distribute.context import experimental_set_strategy as experimental_set_strategy
from situs._src.distribute.context import get_replica_context as get_replica_context
from situs._src.distribute.context import get_strategy as get_strategy
from situs._src.distribute.context import has_strategy as has_strategy
from situs._src.distribute.context import in_cross_replica_context as in_cross_replica_context
from situs._src.distribute.input import DistributedDataset as DistributedDataset
from situs._src.distribute.input import DistributedIterator as DistributedIterator
from situs._src.distribute.input import InputContext as InputContext
from situs._src.distribute.input import InputOptions as InputOptions
from situs._src.distribute.input import InputReplicationMode as InputReplicationMode
from situs._src.distribute.multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from situs._src.distribute.reduction import CrossDeviceOps as CrossDeviceOps
from situs._src.distribute.reduction import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from situs._src.distribute.reduction import NcclAllReduce as NcclAllReduce
from situs._src.distribute.reduction import ReduceOp as ReduceOp
from situs._src.distribute.reduction import ReductionToOneDevice as ReductionToOneDevice
from situs._src.distribute.strategy import MirroredStrategy as MirroredStrategy
from situs._src.distribute.strategy import OneDeviceStrategy as OneDeviceStrategy
from situs._src.distribute.strategy import ReplicaContext as ReplicaContext
from situs._src.distribute.strategy import RunOptions as RunOptions
from situs._src.distribute.strategy import Strategy as Strategy
from situs._src.distribute.strategy import StrategyExtended as StrategyExtended
from situs._src.distribute.values import DistributedValues as DistributedValues
from situs.distribute import cluster_resolver as cluster_resolver
from situs.distribute import experimental as experimental
