"""Options of sessions and runs: ``tf.ConfigProto``, ``tf.RunOptions`` and their parts.

    >>> config = ConfigProto(device_count={"CPU": 4}, allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True

They have all the fields of TensorFlow's; the session determines which of them have an effect.
"""

from __future__ import annotations

from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import ConfigProto, GPUOptions, GraphOptions, OptimizerOptions, RunOptions
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

from situs._src.base.export import export
from situs._src.base.proto.own import documented

documented(ConfigProto, "The configuration of a session.")
documented(GPUOptions, "How GPUs and their memory are used.")
documented(GraphOptions, "How a graph is prepared before it runs.")
documented(OptimizerOptions, "How hard a graph is optimised.")
documented(RunOptions, "The options of one ``session.run``.")
documented(RewriterConfig, "Which rewrites a graph goes through after placement, each by a switch.")
documented(ClusterDef, "The jobs of a distributed program, with the addresses of their tasks.")

__all__ = [
    "ClusterDef",
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "OptimizerOptions",
    "RewriterConfig",
    "RunOptions",
]

export(v1="ConfigProto")(ConfigProto)
export(v1="GPUOptions")(GPUOptions)
export(v1="GraphOptions")(GraphOptions)
export(v1="OptimizerOptions")(OptimizerOptions)
export(v1="RunOptions")(RunOptions)
