"""The messages themselves: names, constants and the conversions beside them, as programs use them."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pool, message

from situs._src.base import dtype as dtypes
from situs._src.base.proto.config import (
    ClusterDef,
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RewriterConfig,
    RunOptions,
)
from situs._src.base.proto.example import Feature, Features
from situs._src.base.proto.graph import AttrValue, FunctionDef, GraphDef
from situs._src.base.proto.meta_graph import CheckpointState
from situs._src.base.proto.own import message_classes
from situs._src.base.proto.stats import RunMetadata
from situs._src.base.proto.tensor import DataType, TensorShapeProto, dtype_from_proto, shape_from_proto, shape_to_proto
from situs._src.base.shapes import TensorShape
from situs.errors import DTypeError
from tests.conftest import ROOT


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
        (DataType.DT_FLOAT8_E4M3FN, 25),
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


# As TensorFlow's programs treat them.

MESSAGES = [
    ConfigProto(device_count={"CPU": 2}, gpu_options=GPUOptions(allow_growth=True)),
    GPUOptions.Experimental.VirtualDevices(memory_limit_mb=[1.5]),
    GraphDef(node=[{"name": "a", "op": "Const", "attr": {"T": AttrValue(type=1)}}]),
    CheckpointState(model_checkpoint_path="model-3"),
    Features(feature={"a": Feature(int64_list={"value": [1, -2]})}),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_pickles_are_equal_and_independent(message, duplicate):
    made = duplicate(message)
    assert type(made) is type(message)
    assert made == message
    made.Clear()
    assert made != message


def test_wrong_values_are_refused_with_protobufs_errors():
    config = ConfigProto()
    with pytest.raises(ValueError, match="gpu"):
        ConfigProto(gpu=1)
    with pytest.raises(AttributeError):
        config.gpu = 1
    with pytest.raises(TypeError):
        config.intra_op_parallelism_threads = "four"
    with pytest.raises(ValueError, match="out of range"):
        config.intra_op_parallelism_threads = 2**31
    with pytest.raises(AttributeError):
        config.gpu_options = GPUOptions()
    with pytest.raises(message.DecodeError):
        ConfigProto.FromString(b"\x0a\xff")
    assert config == ConfigProto()


# Classes of our own.


def test_own_classes_are_in_a_pool_of_their_own():
    for kind in (Feature, CheckpointState):
        with pytest.raises(KeyError):
            descriptor_pool.Default().FindMessageTypeByName(kind.DESCRIPTOR.full_name)
        assert kind.__doc__
        assert getattr(importlib.import_module(kind.__module__), kind.__name__) is kind


def test_own_classes_may_have_every_sort_of_field():
    (one,) = message_classes(
        "some.module",
        {"One": ("All sorts.", {"a": (1, "int32", "k"), "b": (2, "One", "k"), "by_name": (3, "map<int64, One>")})},
    )
    made = one(b=one(a=3), by_name={2**40: one(a=0)})
    assert one.FromString(made.SerializeToString()) == made
    assert made.WhichOneof("k") == "b"
    made.a = 0
    assert (made.WhichOneof("k"), made.HasField("b")) == ("a", False)


def test_a_type_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="Gone"):
        message_classes("some.module", {"One": ("One.", {"a": (1, "Gone")})})


# What is loaded when.

PROGRAMS = {
    "import situs": "import situs",
    "eager": "import situs as tf; tf.matmul([[1.0]], [[2.0]]); tf.Variable(1.0).assign_add(1.0)",
    "a dataset": "import situs as tf; list(tf.data.Dataset.range(3).map(lambda x: x + 1).batch(2))",
    "a summary": "import situs as tf; tf.summary.scalar('loss', 1.0, step=1)",
    "a function": "import situs as tf; tf.function(lambda x: x + 1.0)(1.0)",
    "a graph": "import situs.compat.v1 as tf; tf.Variable(tf.placeholder_with_default(1.0, []) + 1.0)",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_protobuf_is_not_loaded_by(program):
    said = "; import sys; assert 'google.protobuf' not in sys.modules; import situs._src.base.proto.graph; "
    said += "assert 'google.protobuf' in sys.modules"
    subprocess.run([sys.executable, "-c", program + said], check=True, cwd=ROOT)
