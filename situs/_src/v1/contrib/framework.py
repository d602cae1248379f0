"""``tf.contrib.framework``: global steps, ``arg_scope``, variables of checkpoints."""

from situs._src.base import nest as nest
from situs._src.checkpoints.finding import list_variables as list_variables
from situs._src.checkpoints.finding import load_checkpoint as load_checkpoint
from situs._src.checkpoints.finding import load_variable as load_variable
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.contrib.arguments import add_arg_scope as add_arg_scope
from situs._src.v1.contrib.arguments import arg_scope as arg_scope
from situs._src.v1.contrib.arguments import current_arg_scope as current_arg_scope
from situs._src.v1.contrib.arguments import has_arg_scope as has_arg_scope
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.optimizers.global_step import assert_global_step as assert_global_step
from situs._src.v1.optimizers.global_step import create_global_step as create_global_step
from situs._src.v1.optimizers.global_step import get_global_step as get_global_step
from situs._src.v1.optimizers.global_step import get_or_create_global_step as get_or_create_global_step
from situs._src.variables.collections import global_variables as get_variables
from situs._src.variables.collections import model_variables as get_model_variables
from situs._src.variables.collections import trainable_variables as get_trainable_variables

_build_graphs(globals())

__getattr__ = _without("tf.contrib.framework")
