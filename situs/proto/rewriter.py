"""``RewriterConfig``: which rewrites a graph goes through after placement, each by a switch.

>>> RewriterConfig(constant_folding=RewriterConfig.OFF)
constant_folding: OFF
<BLANKLINE>
"""

from __future__ import annotations

from situs.proto.attribute import AttrValue
from situs.proto.enums import EnumType
from situs.proto.field import MessageMapField, Nested, RepeatedNested, RepeatedScalar, Scalar
from situs.proto.kind import BOOL, INT32, INT64, STRING
from situs.proto.message import Message


class AutoParallelOptions(Message):
    """Whether the graph is replicated, and how often."""

    enable = Scalar(1, BOOL)
    num_replicas = Scalar(2, INT32)


class ScopedAllocatorOptions(Message):
    """The ops whose outputs are allocated together."""

    enable_op = RepeatedScalar(1, STRING)


class RewriterConfig(Message):
    """The switches of the graph rewrites."""

    Toggle = EnumType("Toggle", DEFAULT=0, ON=1, OFF=2, AGGRESSIVE=3, EXPERIMENTAL_MLIR=4, EXPERIMENTAL_BOTH=5)
    DEFAULT, ON, OFF, AGGRESSIVE, EXPERIMENTAL_MLIR, EXPERIMENTAL_BOTH = Toggle.values()
    CpuLayout = EnumType("CpuLayout", NO_CONVERSION_ON_CPU=0, NCHW_TO_NHWC=1, NHWC_TO_NCHW=2)
    NO_CONVERSION_ON_CPU, NCHW_TO_NHWC, NHWC_TO_NCHW = CpuLayout.values()
    NumIterationsType = EnumType("NumIterationsType", DEFAULT_NUM_ITERS=0, ONE=1, TWO=2)
    DEFAULT_NUM_ITERS, ONE, TWO = NumIterationsType.values()
    MemOptType = EnumType(
        "MemOptType",
        DEFAULT_MEM_OPT=0,
        NO_MEM_OPT=1,
        MANUAL=2,
        SWAPPING_HEURISTICS=4,
        RECOMPUTATION_HEURISTICS=5,
        SCHEDULING_HEURISTICS=6,
        HEURISTICS=3,
    )
    DEFAULT_MEM_OPT, NO_MEM_OPT, MANUAL = MemOptType.values()[:3]
    SWAPPING_HEURISTICS, RECOMPUTATION_HEURISTICS, SCHEDULING_HEURISTICS, HEURISTICS = MemOptType.values()[3:]

    class CustomGraphOptimizer(Message):
        """An optimizer registered by name, with its parameters."""

        name = Scalar(1, STRING)
        parameter_map = MessageMapField(2, STRING, AttrValue)

    cpu_layout_conversion = Scalar(50, CpuLayout)
    layout_optimizer = Scalar(1, Toggle)
    constant_folding = Scalar(3, Toggle)
    shape_optimization = Scalar(13, Toggle)
    remapping = Scalar(14, Toggle)
    common_subgraph_elimination = Scalar(24, Toggle)
    arithmetic_optimization = Scalar(7, Toggle)
    dependency_optimization = Scalar(8, Toggle)
    loop_optimization = Scalar(9, Toggle)
    function_optimization = Scalar(10, Toggle)
    debug_stripper = Scalar(11, Toggle)
    disable_model_pruning = Scalar(2, BOOL)
    scoped_allocator_optimization = Scalar(15, Toggle)
    pin_to_host_optimization = Scalar(18, Toggle)
    implementation_selector = Scalar(22, Toggle)
    auto_mixed_precision = Scalar(23, Toggle)
    auto_mixed_precision_mkl = Scalar(25, Toggle)
    auto_mixed_precision_onednn_bfloat16 = Scalar(31, Toggle)
    auto_mixed_precision_cpu = Scalar(29, Toggle)
    disable_meta_optimizer = Scalar(19, BOOL)
    disable_tfg_optimizer = Scalar(32, BOOL)
    use_plugin_optimizers = Scalar(28, Toggle)
    experimental_conditional_code_motion = Scalar(30, Toggle)
    meta_optimizer_iterations = Scalar(12, NumIterationsType)
    min_graph_nodes = Scalar(17, INT32)
    experimental_disable_compressed_tensor_optimization = Scalar(26, BOOL)
    experimental_disable_folding_quantization_emulation = Scalar(27, BOOL)
    memory_optimization = Scalar(4, MemOptType)
    memory_optimizer_target_node_name_scope = Scalar(6, STRING)
    meta_optimizer_timeout_ms = Scalar(20, INT64)
    auto_parallel = Nested(5, AutoParallelOptions)
    fail_on_optimizer_errors = Scalar(21, BOOL)
    scoped_allocator_opts = Nested(16, ScopedAllocatorOptions)
    optimizers = RepeatedScalar(100, STRING)
    custom_optimizers = RepeatedNested(200, CustomGraphOptimizer)
