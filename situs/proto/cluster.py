"""The processes of a distributed program: ``tf.train.ClusterDef`` and the options of their traffic.

>>> print(JobDef(name="worker", tasks={0: "host:2222"}), end="")
name: "worker"
tasks {
  key: 0
  value: "host:2222"
}
"""

from __future__ import annotations

from situs.proto.field import RepeatedNested, Scalar, ValueMapField
from situs.proto.kind import BOOL, INT32, STRING
from situs.proto.message import Message


class JobDef(Message):
    """A named job with the address of each of its tasks."""

    name = Scalar(1, STRING)
    tasks = ValueMapField(2, INT32, STRING)


class ClusterDef(Message):
    """All jobs of a cluster."""

    job = RepeatedNested(1, JobDef)


class RPCOptions(Message):
    """How processes talk to each other."""

    use_rpc_for_inprocess_master = Scalar(1, BOOL)
    compression_algorithm = Scalar(2, STRING)
    compression_level = Scalar(3, INT32)
    cache_rpc_response = Scalar(4, BOOL)
    disable_session_connection_sharing = Scalar(5, BOOL)
    num_channels_per_target = Scalar(6, INT32)
