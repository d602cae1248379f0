"""``tf.contrib.slim``: the layers of ``tf.contrib.layers``, and ``arg_scope``."""

from situs._src.v1.contrib import model_analyzer as model_analyzer
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.contrib.arguments import add_arg_scope as add_arg_scope
from situs._src.v1.contrib.arguments import arg_scope as arg_scope
from situs._src.v1.contrib.framework import get_or_create_global_step as get_or_create_global_step
from situs._src.v1.contrib.layers import avg_pool2d as avg_pool2d
from situs._src.v1.contrib.layers import batch_norm as batch_norm
from situs._src.v1.contrib.layers import conv1d as conv1d
from situs._src.v1.contrib.layers import conv2d as conv2d
from situs._src.v1.contrib.layers import conv2d_transpose as conv2d_transpose
from situs._src.v1.contrib.layers import conv3d as conv3d
from situs._src.v1.contrib.layers import convolution as convolution
from situs._src.v1.contrib.layers import convolution1d as convolution1d
from situs._src.v1.contrib.layers import convolution2d as convolution2d
from situs._src.v1.contrib.layers import convolution2d_transpose as convolution2d_transpose
from situs._src.v1.contrib.layers import convolution3d as convolution3d
from situs._src.v1.contrib.layers import dropout as dropout
from situs._src.v1.contrib.layers import flatten as flatten
from situs._src.v1.contrib.layers import fully_connected as fully_connected
from situs._src.v1.contrib.layers import l1_l2_regularizer as l1_l2_regularizer
from situs._src.v1.contrib.layers import l1_regularizer as l1_regularizer
from situs._src.v1.contrib.layers import l2_regularizer as l2_regularizer
from situs._src.v1.contrib.layers import layer_norm as layer_norm
from situs._src.v1.contrib.layers import linear as linear
from situs._src.v1.contrib.layers import max_pool2d as max_pool2d
from situs._src.v1.contrib.layers import one_hot_encoding as one_hot_encoding
from situs._src.v1.contrib.layers import repeat as repeat
from situs._src.v1.contrib.layers import separable_conv2d as separable_conv2d
from situs._src.v1.contrib.layers import separable_convolution2d as separable_convolution2d
from situs._src.v1.contrib.layers import stack as stack
from situs._src.v1.contrib.layers import variance_scaling_initializer as variance_scaling_initializer
from situs._src.v1.contrib.layers import xavier_initializer as xavier_initializer
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.variables.collections import global_variables as get_variables
from situs._src.variables.collections import model_variables as get_model_variables
from situs._src.variables.collections import trainable_variables as get_trainable_variables

_build_graphs(globals())

__getattr__ = _without("tf.contrib.slim")
