"""What a session and a run are asked to do: ``tf.ConfigProto``, ``tf.RunOptions`` and what is inside them.

    >>> config = ConfigProto(device_count={"CPU": 4}, allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True

Field names and numbers are TensorFlow's. A field is declared if TensorFlow's programs set it; which of them
Situs acts on is the business of the session.
"""

from __future__ import annotations

from situs.proto.cluster import ClusterDef, RPCOptions
from situs.proto.enums import EnumType
from situs.proto.field import Nested, RepeatedNested, RepeatedScalar, Scalar, ValueMapField
from situs.proto.kind import BOOL, DOUBLE, FLOAT, INT32, INT64, STRING
from situs.proto.message import Message
from situs.proto.rewriter import RewriterConfig


class GPUOptions(Message):
    """How the cards and their memory are used."""

    class Experimental(Message):
        """Options that may change."""

        class VirtualDevices(Message):
            """The logical devices of one visible card: a memory limit in MiB for each."""

            memory_limit_mb = RepeatedScalar(1, FLOAT)
            priority = RepeatedScalar(2, INT32)
            device_ordinal = RepeatedScalar(3, INT32)

        class StreamMergeOptions(Message):
            """Which copy streams are one with the compute stream."""

            merge_host_to_device_stream = Scalar(1, BOOL)
            merge_device_to_host_stream = Scalar(2, BOOL)
            merge_device_to_device_stream = Scalar(3, BOOL)

        virtual_devices = RepeatedNested(1, VirtualDevices)
        num_virtual_devices_per_gpu = Scalar(15, INT32)
        use_unified_memory = Scalar(2, BOOL)
        num_dev_to_dev_copy_streams = Scalar(3, INT32)
        collective_ring_order = Scalar(4, STRING)
        timestamped_allocator = Scalar(5, BOOL)
        kernel_tracker_max_interval = Scalar(7, INT32)
        kernel_tracker_max_bytes = Scalar(8, INT32)
        kernel_tracker_max_pending = Scalar(9, INT32)
        internal_fragmentation_fraction = Scalar(10, DOUBLE)
        use_cuda_malloc_async = Scalar(11, BOOL)
        disallow_retry_on_allocation_failure = Scalar(12, BOOL)
        gpu_host_mem_limit_in_mb = Scalar(13, FLOAT)
        gpu_host_mem_disallow_growth = Scalar(14, BOOL)
        gpu_system_memory_size_in_mb = Scalar(16, INT32)
        populate_pjrt_gpu_client_creation_info = Scalar(17, BOOL)
        node_id = Scalar(18, INT32)
        stream_merge_options = Nested(19, StreamMergeOptions)

    per_process_gpu_memory_fraction = Scalar(1, DOUBLE)
    allow_growth = Scalar(4, BOOL)
    allocator_type = Scalar(2, STRING)
    deferred_deletion_bytes = Scalar(3, INT64)
    visible_device_list = Scalar(5, STRING)
    polling_active_delay_usecs = Scalar(6, INT32)
    polling_inactive_delay_msecs = Scalar(7, INT32)
    force_gpu_compatible = Scalar(8, BOOL)
    experimental = Nested(9, Experimental)


class OptimizerOptions(Message):
    """How hard a graph is optimised."""

    Level = EnumType("Level", L1=0, L0=-1)
    L1, L0 = Level.values()
    GlobalJitLevel = EnumType("GlobalJitLevel", DEFAULT=0, OFF=-1, ON_1=1, ON_2=2)
    DEFAULT, OFF, ON_1, ON_2 = GlobalJitLevel.values()

    do_common_subexpression_elimination = Scalar(1, BOOL)
    do_constant_folding = Scalar(2, BOOL)
    max_folded_constant_in_bytes = Scalar(6, INT64)
    do_function_inlining = Scalar(4, BOOL)
    opt_level = Scalar(3, Level)
    global_jit_level = Scalar(5, GlobalJitLevel)
    cpu_global_jit = Scalar(7, BOOL)


class GraphOptions(Message):
    """How a graph is prepared before it runs."""

    enable_recv_scheduling = Scalar(2, BOOL)
    optimizer_options = Nested(3, OptimizerOptions)
    build_cost_model = Scalar(4, INT64)
    build_cost_model_after = Scalar(9, INT64)
    infer_shapes = Scalar(5, BOOL)
    place_pruned_graph = Scalar(6, BOOL)
    enable_bfloat16_sendrecv = Scalar(7, BOOL)
    timeline_step = Scalar(8, INT32)
    rewrite_options = Nested(10, RewriterConfig)


class ThreadPoolOptionProto(Message):
    """One pool of threads that run ops."""

    num_threads = Scalar(1, INT32)
    global_name = Scalar(2, STRING)


class SessionMetadata(Message):
    """A name and a version for the session, shown in traces."""

    name = Scalar(1, STRING)
    version = Scalar(2, INT64)


class ConfigProto(Message):
    """The configuration of a session."""

    class Experimental(Message):
        """Options that may change."""

        MlirBridgeRollout = EnumType(
            "MlirBridgeRollout",
            MLIR_BRIDGE_ROLLOUT_UNSPECIFIED=0,
            MLIR_BRIDGE_ROLLOUT_ENABLED=1,
            MLIR_BRIDGE_ROLLOUT_DISABLED=2,
        )
        (
            MLIR_BRIDGE_ROLLOUT_UNSPECIFIED,
            MLIR_BRIDGE_ROLLOUT_ENABLED,
            MLIR_BRIDGE_ROLLOUT_DISABLED,
        ) = MlirBridgeRollout.values()

        collective_group_leader = Scalar(1, STRING)
        executor_type = Scalar(3, STRING)
        recv_buf_max_chunk = Scalar(4, INT32)
        use_numa_affinity = Scalar(5, BOOL)
        collective_deterministic_sequential_execution = Scalar(6, BOOL)
        collective_nccl = Scalar(7, BOOL)
        share_session_state_in_clusterspec_propagation = Scalar(8, BOOL)
        disable_thread_spinning = Scalar(9, BOOL)
        share_cluster_devices_in_session = Scalar(10, BOOL)
        session_metadata = Nested(11, SessionMetadata)
        optimize_for_static_graph = Scalar(12, BOOL)
        enable_mlir_bridge = Scalar(13, BOOL)
        mlir_bridge_rollout = Scalar(17, MlirBridgeRollout)
        enable_mlir_graph_optimization = Scalar(16, BOOL)
        disable_output_partition_graphs = Scalar(14, BOOL)
        xla_fusion_autotuner_thresh = Scalar(15, INT64)
        use_tfrt = Scalar(18, BOOL)
        enable_multi_host = Scalar(27, BOOL)
        tfrt_use_ifrt = Scalar(32, BOOL)
        backend_server_port = Scalar(28, INT32)
        target_tpu = Scalar(29, BOOL)
        target_gpu = Scalar(30, BOOL)
        stream_merge_threshold = Scalar(31, INT32)
        disable_functional_ops_lowering = Scalar(21, BOOL)
        xla_prefer_single_graph_cluster = Scalar(22, BOOL)
        disable_optimize_for_static_graph = Scalar(24, BOOL)
        disable_eager_executor_streaming_enqueue = Scalar(26, BOOL)
        finalize_function_library_runtime = Scalar(33, BOOL)
        finalize_resource_manager = Scalar(34, BOOL)
        tf2xla_dump_dir = Scalar(35, STRING)
        online_cost_analysis = Scalar(36, BOOL)

    device_count = ValueMapField(1, STRING, INT32)
    intra_op_parallelism_threads = Scalar(2, INT32)
    inter_op_parallelism_threads = Scalar(5, INT32)
    use_per_session_threads = Scalar(9, BOOL)
    session_inter_op_thread_pool = RepeatedNested(12, ThreadPoolOptionProto)
    placement_period = Scalar(3, INT32)
    device_filters = RepeatedScalar(4, STRING)
    gpu_options = Nested(6, GPUOptions)
    pluggable_device_options = Nested(18, GPUOptions)
    allow_soft_placement = Scalar(7, BOOL)
    log_device_placement = Scalar(8, BOOL)
    graph_options = Nested(10, GraphOptions)
    operation_timeout_in_ms = Scalar(11, INT64)
    rpc_options = Nested(13, RPCOptions)
    cluster_def = Nested(14, ClusterDef)
    isolate_session_state = Scalar(15, BOOL)
    share_cluster_devices_in_session = Scalar(17, BOOL)
    experimental = Nested(16, Experimental)


class RunOptions(Message):
    """The options of one ``session.run``."""

    TraceLevel = EnumType("TraceLevel", NO_TRACE=0, SOFTWARE_TRACE=1, HARDWARE_TRACE=2, FULL_TRACE=3)
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = TraceLevel.values()

    class Experimental(Message):
        """Options that may change."""

        class RunHandlerPoolOptions(Message):
            """How the pool of run handlers treats this run."""

            priority = Scalar(1, INT64)

        collective_graph_key = Scalar(1, INT64)
        use_run_handler_pool = Scalar(2, BOOL)
        run_handler_pool_options = Nested(3, RunHandlerPoolOptions)

    trace_level = Scalar(1, TraceLevel)
    timeout_in_ms = Scalar(2, INT64)
    inter_op_thread_pool = Scalar(3, INT32)
    output_partition_graphs = Scalar(5, BOOL)
    report_tensor_allocations_upon_oom = Scalar(7, BOOL)
    experimental = Nested(8, Experimental)
