"""What programs import from below TensorFlow's public names: ``tensorflow.python.*``, ``.core.*``, ``.examples.*``.

    from tensorflow.python.framework import ops             ops.get_default_graph, ops.Tensor, ...
    from tensorflow.python.ops import array_ops             array_ops.reshape, ...
    from tensorflow.core.protobuf import config_pb2         config_pb2.ConfigProto
    from tensorflow.examples.tutorials.mnist import input_data

A module of ``tensorflow.python`` is a list of public modules in which its names are looked up, in order: TensorFlow's
own functions there are the public ones, under the same names.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from situs._src.as_tensorflow import missing
from situs._src.base.errors import DTypeError
from situs._src.ir.registry.op import Op, all_ops, find_op
from situs._src.ops.by_keyword import by_keyword
from situs._src.v1.frontend import builds

V1, V2 = "situs.compat.v1", "situs"
INSIDE = "situs._src.as_tensorflow.inside"  # names that are public nowhere

# The public modules in which the names of a module of tensorflow.python are looked for.
_PYTHON: dict[str, tuple[str, ...]] = {
    "client.device_lib": ("situs.python.client.device_lib",),
    "client.session": (V1,),
    "client.timeline": ("situs.python.client.timeline",),
    "data.ops.dataset_ops": ("situs.data", f"{V1}.data"),
    "data.ops.iterator_ops": ("situs.data", f"{V1}.data"),
    "eager.backprop": (V2,),
    "eager.def_function": (V2,),
    "framework.constant_op": (V1,),
    "framework.config": ("situs.config", "situs.config.experimental"),
    "framework.device": (V1,),
    "framework.dtypes": (f"{V1}.dtypes", V1),
    "framework.errors": ("situs.errors",),
    "framework.errors_impl": ("situs.errors",),
    "framework.function": (V1,),
    "framework.graph_util": (f"{V1}.graph_util",),
    "framework.importer": (V1,),
    "framework.indexed_slices": (V1,),
    "framework.meta_graph": (f"{V1}.train", V1),
    "framework.ops": (V1, V2),
    "framework.random_seed": (f"{V1}.random", V1),
    "framework.smart_cond": (INSIDE,),
    "framework.sparse_tensor": (V1,),
    "framework.tensor": (V1,),
    "framework.tensor_conversion": (V1,),
    "framework.tensor_shape": (V1, INSIDE, "situs._src.base.shapes"),
    "framework.tensor_spec": (V1,),
    "framework.tensor_util": (V1, V2),
    "framework.test_util": ("situs.test",),
    "layers.base": (f"{V1}.layers",),
    "layers.convolutional": (f"{V1}.layers",),
    "layers.core": (f"{V1}.layers",),
    "layers.layers": (f"{V1}.layers",),
    "layers.normalization": (f"{V1}.layers",),
    "layers.pooling": (f"{V1}.layers",),
    "layers.utils": (INSIDE,),
    "lib.io.file_io": ("situs.io.gfile", f"{V1}.gfile"),
    "lib.io.tf_record": (f"{V1}.python_io", "situs.io"),
    "module.module": (V2,),
    "ops.array_ops": (V1, f"{V1}.nn"),
    "ops.bitwise_ops": (f"{V1}.bitwise",),
    "ops.candidate_sampling_ops": (f"{V1}.nn", f"{V1}.random"),
    "ops.check_ops": (f"{V1}.debugging", V1),
    "ops.clip_ops": (V1,),
    "ops.cond": (V1,),
    "ops.control_flow_ops": (V1,),
    "ops.ctc_ops": (f"{V1}.nn",),
    "ops.custom_gradient": (V2,),
    "ops.data_flow_ops": (f"{V1}.queue", V1),
    "ops.embedding_ops": (f"{V1}.nn",),
    "ops.functional_ops": (V1,),
    "ops.gradients": (V1,),
    "ops.gradients_impl": (V1,),
    "ops.histogram_ops": (V1,),
    "ops.image_ops": (f"{V1}.image",),
    "ops.init_ops": (f"{V1}.initializers", V1),
    "ops.init_ops_v2": ("situs.initializers",),
    "ops.io_ops": (f"{V1}.io", V1),
    "ops.linalg_ops": (f"{V1}.linalg", V1),
    "ops.logging_ops": (V1, f"{V1}.summary"),
    "ops.lookup_ops": (f"{V1}.lookup", V1, f"{V1}.contrib.lookup"),
    "ops.losses.losses": (f"{V1}.losses",),
    "ops.losses.losses_impl": (f"{V1}.losses",),
    "ops.manip_ops": (f"{V1}.manip",),
    "ops.map_fn": (V1,),
    "ops.math_ops": (f"{V1}.math", V1),
    "ops.metrics": (f"{V1}.metrics",),
    "ops.metrics_impl": (f"{V1}.metrics",),
    "ops.nn": (f"{V1}.nn",),
    "ops.nn_impl": (f"{V1}.nn",),
    "ops.nn_ops": (f"{V1}.nn",),
    "ops.parsing_ops": (f"{V1}.io", V1),
    "ops.ragged.ragged_tensor": (V2,),
    "ops.partitioned_variables": (V1,),
    "ops.numpy_ops.np_config": ("situs.experimental.numpy",),
    "ops.random_ops": (f"{V1}.random", V1),
    "ops.resource_variable_ops": (V1,),
    "ops.rnn": (f"{V1}.nn",),
    "ops.rnn_cell": (f"{V1}.nn.rnn_cell",),
    "ops.rnn_cell_impl": (f"{V1}.nn.rnn_cell",),
    "ops.script_ops": (V1,),
    "ops.sparse_ops": (f"{V1}.sparse", V1),
    "ops.special_math_ops": (f"{V1}.math", V1),
    "ops.standard_ops": (V1,),
    "ops.state_ops": (V1,),
    "ops.stateless_random_ops": (f"{V1}.random",),
    "ops.string_ops": (f"{V1}.strings", V1),
    "ops.summary_ops_v2": ("situs.summary",),
    "ops.template": (V1,),
    "ops.tensor_array_ops": (V1,),
    "ops.variable_scope": (V1,),
    "ops.variables": (V1,),
    "ops.while_loop": (V1,),
    "platform.app": (f"{V1}.app",),
    "platform.flags": (f"{V1}.flags",),
    "platform.gfile": (f"{V1}.gfile",),
    "platform.test": ("situs.test",),
    "platform.tf_logging": (f"{V1}.logging",),
    "pywrap_tensorflow": (f"{V1}.train",),
    "saved_model.builder": (f"{V1}.saved_model.builder", f"{V1}.saved_model"),
    "saved_model.constants": (f"{V1}.saved_model.constants",),
    "saved_model.load": ("situs.saved_model",),
    "saved_model.loader": (f"{V1}.saved_model.loader",),
    "saved_model.save": ("situs.saved_model",),
    "saved_model.signature_constants": (f"{V1}.saved_model.signature_constants",),
    "saved_model.signature_def_utils": (f"{V1}.saved_model.signature_def_utils",),
    "saved_model.simple_save": (f"{V1}.saved_model",),
    "saved_model.tag_constants": (f"{V1}.saved_model.tag_constants",),
    "saved_model.utils": (f"{V1}.saved_model.utils",),
    "summary.summary": (f"{V1}.summary",),
    "summary.summary_iterator": (f"{V1}.train",),
    "summary.writer.writer": (f"{V1}.summary",),
    "training.adam": (f"{V1}.train",),
    "training.basic_session_run_hooks": (f"{V1}.train",),
    "training.checkpoint_management": (f"{V1}.train",),
    "training.checkpoint_utils": (f"{V1}.train",),
    "training.coordinator": (f"{V1}.train",),
    "training.gradient_descent": (f"{V1}.train",),
    "training.input": (f"{V1}.train",),
    "training.learning_rate_decay": (f"{V1}.train",),
    "training.momentum": (f"{V1}.train",),
    "training.monitored_session": (f"{V1}.train",),
    "training.moving_averages": (f"{V1}.train",),
    "training.optimizer": (f"{V1}.train",),
    "training.py_checkpoint_reader": (f"{V1}.train",),
    "training.queue_runner": (f"{V1}.train.queue_runner", f"{V1}.train"),
    "training.rmsprop": (f"{V1}.train",),
    "training.saver": (f"{V1}.train",),
    "training.session_manager": (f"{V1}.train",),
    "training.session_run_hook": (f"{V1}.train",),
    "training.summary_io": (f"{V1}.train", f"{V1}.summary"),
    "training.supervisor": (f"{V1}.train",),
    "training.training": (f"{V1}.train",),
    "training.training_util": (f"{V1}.train",),
    "util.compat": ("situs.compat",),
    "util.nest": ("situs.nest",),
}
# Names there that are public under another one.
_RENAMED = {
    ("framework.config", "disable_op_determinism"): ("situs._src.runtime.eager.determinism", "relax"),
    ("framework.config", "is_op_determinism_enabled"): ("situs._src.runtime.eager.determinism", "is_required"),
    ("ops.numpy_ops.np_config", "enable_numpy_behavior"): (
        "situs.experimental.numpy",
        "experimental_enable_numpy_behavior",
    ),
    ("framework.tensor_util", "constant_value"): (V2, "get_static_value"),
    ("framework.tensor_util", "is_tf_type"): (V2, "is_tensor"),
    ("layers.utils", "constant_value"): (INSIDE, "smart_constant_value"),
    ("ops.rnn_cell_impl", "_linear"): (INSIDE, "linear"),
    ("training.moving_averages", "assign_moving_average"): (
        "situs._src.v1.optimizers.moving_average",
        "assign_moving_average",
    ),
}
# Modules inside of the parts of tf.contrib.
_MODULES_OF_CONTRIB = frozenset(
    (
        *("arg_scope", "core_rnn", "core_rnn_cell", "core_rnn_cell_impl", "embedding_ops", "framework", "hparam"),
        *("initializers", "layers", "loss", "lookup", "lookup_ops", "metric_ops", "metrics", "model_analyzer", "ops"),
        *("optimizers", "regularizers", "rnn", "rnn_cell", "slim", "training", "utils", "variables"),
    )
)
_IN_CONTRIB = {"_linear": (INSIDE, "linear"), "constant_value": (INSIDE, "smart_constant_value")}
_PACKAGES = {name.rpartition(".")[0] for name in _PYTHON} | {"", "ops.losses", "lib", "summary.writer", "data"}
# What programs import that is neither public nor in tensorflow.python: modules of the engine.
_ELSEWHERE = {
    "examples.tutorials.mnist.input_data": "situs._src.v1.tutorials.input_data",
    "examples.tutorials.mnist.mnist": "situs._src.v1.tutorials.mnist",
    "contrib.distributions": "situs.compat.v1.distributions",
    "contrib.learn.python.learn.datasets.mnist": "situs._src.v1.tutorials.input_data",
    "contrib.tensorboard.plugins.projector": "tensorboard.plugins.projector",
}
_FOLDERS = {name.rsplit(".", count)[0] for name in _ELSEWHERE for count in range(1, name.count(".") + 1)} - {
    "contrib",
    "contrib.learn",
}
_made: dict[str, ModuleType] = {}


def is_elsewhere(below: str) -> bool:
    """Whether a module below ``tensorflow`` stands for one of the engine's, or leads to one."""
    return below in _ELSEWHERE or below in _FOLDERS or _contrib(below) is not None


def _contrib(below: str) -> str | None:
    """The part of ``tf.contrib`` that a module is inside of: ``layers`` for ``contrib.layers.python.layers.utils``."""
    parts = below.split(".")
    if len(parts) < 3 or parts[0] != "contrib" or parts[2] != "python":
        return None
    return parts[1] if len(parts) == 3 or (len(parts) < 6 and parts[-1] in _MODULES_OF_CONTRIB) else None


def module(name: str) -> ModuleType | None:
    """A module below ``tensorflow.python``, ``core`` or `is_elsewhere`; None if Situs has nothing for it."""
    if name not in _made:
        _, room, below = (*name.split(".", 2), "")[:3]
        path = name.partition(".")[2]
        found: ModuleType | None
        part = _contrib(path)
        if path in _ELSEWHERE or path in _FOLDERS:
            found = _elsewhere(name, path)
        elif part is not None:
            found = _inside_contrib(name, path, part)
        else:
            found = _python(name, below) if room == "python" else _core(name, below)
        if found is None:
            return None
        _made[name] = found
    return _made[name]


def _python(name: str, below: str) -> ModuleType | None:
    if re.fullmatch(r"ops\.gen_\w+_ops", below):
        return _Generated(name)
    if below in _PYTHON:
        return _Looked(name, below, _PYTHON[below])
    if below in _PACKAGES:
        return _Package(name, f"TensorFlow's {name}, as far as programs use it.")
    return None


def _inside_contrib(name: str, path: str, part: str) -> ModuleType | None:
    """A module inside of a part of ``tf.contrib``: what the part makes public, and what it is built from."""
    public = f"{V1}.contrib.{part}"
    try:
        importlib.import_module(public)
    except ModuleNotFoundError:
        return None
    return _Looked(name, path, (public, INSIDE, *((f"{V1}.nn.rnn_cell", f"{V1}.nn") if part == "rnn" else ())))


def _elsewhere(name: str, path: str) -> ModuleType:
    if path in _ELSEWHERE:
        return importlib.import_module(_ELSEWHERE[path])
    return _Package(name, f"TensorFlow's {name}, as far as programs use it.")


def _core(name: str, below: str) -> ModuleType | None:
    """Messages: those of ``tensorboard.compat.proto``, which has them in one folder; ``Example`` is Situs' own."""
    last = below.rpartition(".")[2]
    if last in ("example_pb2", "feature_pb2"):
        return importlib.import_module("situs._src.base.proto.example")
    if last.endswith("_pb2"):
        try:
            return importlib.import_module(f"tensorboard.compat.proto.{last}")
        except ModuleNotFoundError:
            return None
    return _Package(name, f"TensorFlow's {name}: messages.") if below in _FOLDERS_OF_MESSAGES else None


_FOLDERS_OF_MESSAGES = ("", "example", "framework", "protobuf", "util")


class _Package(ModuleType):
    """A module whose attributes are the modules below it."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(name, doc)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return importlib.import_module(f"{self.__name__}.{name}")
        except ModuleNotFoundError:
            raise missing.note(AttributeError(missing.name_text(self.__name__, name), name=name, obj=self)) from None


class _Generated(ModuleType):
    """A module like ``gen_nn_ops``: each op as a function of its inputs, in order or by name, and its attributes."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"TensorFlow's {name}: ops as functions.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _ops_by_plain_names().get(name.replace("_", "").lower())
        if found is None:
            raise missing.note(AttributeError(missing.name_text(self.__name__, name), name=name, obj=self))
        setattr(self, name, made := builds(_in_order(found)))
        return made


@functools.cache
def _ops_by_plain_names() -> dict[str, Op]:
    find_op("Identity")  # which declares them all
    return {name.lower(): op for name, op in all_ops().items()}


def _in_order(op: Op) -> Callable[..., Any]:
    names = [arg.name for arg in op.inputs]

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise DTypeError(f"{op.name} takes {', '.join(names)} in order; give its attributes by name.")
        return by_keyword(op)(**dict(zip(names, args, strict=False)), **kwargs)

    call.__name__ = op.name
    return call


class _Looked(ModuleType):
    """A module whose names are looked for in public ones."""

    def __init__(self, name: str, below: str, places: tuple[str, ...]) -> None:
        super().__init__(name, f"TensorFlow's {name}: the public functions of {' and '.join(places)}.")
        self.__path__: list[str] = []
        self._below, self._places = below, places

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        inside = _IN_CONTRIB.get(name) if self._below.startswith("contrib.") else None
        renamed = inside or _RENAMED.get((self._below, name))
        for place, public in [renamed] if renamed else [(place, name) for place in self._places]:
            try:
                value = getattr(importlib.import_module(place), public)
            except (AttributeError, ModuleNotFoundError):
                continue
            setattr(self, name, value)
            return value
        if self._below.startswith("contrib."):  # a module of its own, if it is imported as one
            raise AttributeError(missing.name_text(self.__name__, name), name=name, obj=self)
        raise missing.note(AttributeError(missing.name_text(self.__name__, name), name=name, obj=self))
