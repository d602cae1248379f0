"""The messages themselves: names, constants and the conversions beside them, as programs use them."""

from __future__ import annotations

import pytest

from situs import dtype as dtypes
from situs.errors import DTypeError
from situs.proto.cluster import ClusterDef
from situs.proto.config import ConfigProto, GPUOptions, GraphOptions, OptimizerOptions, RunOptions
from situs.proto.graph import DataType, FunctionDef, GraphDef, TensorShapeProto
from situs.proto.rewriter import RewriterConfig
from situs.proto.stats import RunMetadata
from situs.proto.tensor import dtype_from_proto, shape_from_proto, shape_to_proto
from situs.shapes import TensorShape


def test_a_session_configuration_as_programs_write_it():
    config = ConfigProto(
        device_count={"CPU": 4},
        intra_op_parallelism_threads=2,
        inter_op_parallelism_threads=1,
        allow_soft_placement=True,
        log_device_placement=True,
        isolate_session_state=True,
        operation_timeout_in_ms=1000,
        gpu_options=GPUOptions(per_process_gpu_memory_fraction=0.4, visible_device_list="0,1"),
        graph_options=GraphOptions(optimizer_options=OptimizerOptions(opt_level=OptimizerOptions.L0)),
        session_inter_op_thread_pool=[{"num_threads": 2, "global_name": "pool"}],
    )
    config.gpu_options.allow_growth = True
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1024, 2048], priority=[1, 2])
    config.graph_options.rewrite_options.constant_folding = RewriterConfig.OFF
    config.graph_options.optimizer_options.global_jit_level = OptimizerOptions.ON_1
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    config.share_cluster_devices_in_session = True
    config.cluster_def.job.add(name="worker").tasks[0] = "localhost:2222"
    assert config.gpu_options.experimental.virtual_devices[0].memory_limit_mb == [1024, 2048]
    assert "      constant_folding: OFF\n" not in str(config)
    assert "    constant_folding: OFF\n" in str(config)
    assert ConfigProto.FromString(config.SerializeToString()) == config


def test_nested_classes_have_tensorflows_names():
    limits = GPUOptions.Experimental.VirtualDevices(memory_limit_mb=[1.5])
    config = ConfigProto(experimental=ConfigProto.Experimental(collective_nccl=True))
    config.gpu_options.CopyFrom(GPUOptions(experimental=GPUOptions.Experimental(virtual_devices=[limits])))
    assert config.gpu_options.experimental.virtual_devices == [limits]


@pytest.mark.parametrize(
    ("constant", "number"),
    [
        (RunOptions.NO_TRACE, 0),
        (RunOptions.SOFTWARE_TRACE, 1),
        (RunOptions.HARDWARE_TRACE, 2),
        (RunOptions.FULL_TRACE, 3),
        (RunOptions().FULL_TRACE, 3),
        (RunOptions.TraceLevel.FULL_TRACE, 3),
        (OptimizerOptions.L0, -1),
        (OptimizerOptions.L1, 0),
        (OptimizerOptions.OFF, -1),
        (OptimizerOptions.ON_2, 2),
        (RewriterConfig.OFF, 2),
        (RewriterConfig.HEURISTICS, 3),
        (RewriterConfig.NO_MEM_OPT, 1),
        (DataType.DT_HALF, 19),
        (DataType.DT_FLOAT_REF, 101),
        (DataType.DT_FLOAT4_E2M1FN, 33),
    ],
)
def test_constants_have_tensorflows_numbers(constant, number):
    assert constant == number


def test_run_options_take_a_level_by_number_or_name():
    options = RunOptions(trace_level="FULL_TRACE", timeout_in_ms=5, inter_op_thread_pool=-1)
    assert options.trace_level == RunOptions.FULL_TRACE
    assert str(options) == "trace_level: FULL_TRACE\ntimeout_in_ms: 5\ninter_op_thread_pool: -1\n"


def test_run_metadata_holds_times_memory_and_graphs():
    metadata = RunMetadata(partition_graphs=[GraphDef(node=[{"name": "a"}])])
    stats = metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(
        node_name="a", all_start_micros=2**50, op_end_rel_micros=3, all_start_nanos=2**60, thread_id=2**32 - 1
    )
    stats.memory.add(allocator_name="cpu", total_bytes=8, peak_bytes=8)
    described = stats.output.add(slot=1).tensor_description
    described.allocation_description.ptr = 2**64 - 1
    described.shape.dim.add(size=2)
    assert metadata.step_stats.dev_stats[0].node_stats[0].output[0].tensor_description.shape.dim[0].size == 2
    assert RunMetadata.FromString(metadata.SerializeToString()) == metadata


def test_a_function_has_a_signature_and_nodes():
    function = FunctionDef(signature={"name": "f", "input_arg": [{"name": "x", "type": 1}]}, ret={"y": "n:z:0"})
    function.node_def.add(name="n", op="Neg", input=["x"])
    function.arg_attr[0].attr["_user_specified_name"].s = b"x"
    assert GraphDef(library={"function": [function]}).library.function[0] == function


def test_a_cluster_prints_its_tasks():
    cluster = ClusterDef(job=[{"name": "w", "tasks": {1: "b", 0: "a"}}])
    assert str(cluster).index('"a"') < str(cluster).index('"b"')


@pytest.mark.parametrize("dims", [None, [], [2], [None, 3], [0, None, None]])
def test_shapes_come_back_from_their_messages(dims):
    shape = TensorShape(dims)
    back = shape_from_proto(shape_to_proto(shape))
    assert back.dims == shape.dims


def test_an_unknown_rank_is_not_a_scalar():
    assert str(shape_to_proto(TensorShape(None))) == "unknown_rank: true\n"
    assert str(shape_to_proto(TensorShape([]))) == ""
    assert shape_from_proto(TensorShapeProto()).rank == 0


@pytest.mark.parametrize("dtype", sorted(dtypes.ALL, key=lambda dtype: dtype.name))
def test_every_dtype_has_its_number_and_name(dtype):
    assert dtype_from_proto(dtype.as_datatype_enum) is dtype
    assert dtype_from_proto(dtype.as_datatype_enum + 100) is dtype
    assert DataType.Name(dtype.as_datatype_enum) == f"DT_{dtype.proto_name.upper()}"


@pytest.mark.parametrize("number", [0, 11, 555, 100])
def test_a_number_that_is_no_dtype_of_ours_is_refused(number):
    with pytest.raises(DTypeError):
        dtype_from_proto(number)
