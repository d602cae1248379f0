"""``tf.quantization`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.quantization import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from situs._src.ops.quantization import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from situs._src.ops.quantization import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from situs._src.ops.quantization import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from situs._src.ops.quantization import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from situs._src.ops.quantization import (
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
