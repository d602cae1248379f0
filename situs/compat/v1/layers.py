"""``tf.layers``: layers as functions, which make their variables in the variable scope around them."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.layers.base import Layer as Layer
from situs._src.v1.layers.convolution import Conv1D as Conv1D
from situs._src.v1.layers.convolution import Conv2D as Conv2D
from situs._src.v1.layers.convolution import Conv2DTranspose as Conv2DTranspose
from situs._src.v1.layers.convolution import Conv3D as Conv3D
from situs._src.v1.layers.convolution import Conv3DTranspose as Conv3DTranspose
from situs._src.v1.layers.convolution import SeparableConv2D as SeparableConv2D
from situs._src.v1.layers.core import Dense as Dense
from situs._src.v1.layers.core import Dropout as Dropout
from situs._src.v1.layers.core import Flatten as Flatten
from situs._src.v1.layers.functions import average_pooling1d as average_pooling1d
from situs._src.v1.layers.functions import average_pooling2d as average_pooling2d
from situs._src.v1.layers.functions import average_pooling3d as average_pooling3d
from situs._src.v1.layers.functions import batch_normalization as batch_normalization
from situs._src.v1.layers.functions import conv1d as conv1d
from situs._src.v1.layers.functions import conv2d as conv2d
from situs._src.v1.layers.functions import conv2d_transpose as conv2d_transpose
from situs._src.v1.layers.functions import conv3d as conv3d
from situs._src.v1.layers.functions import conv3d_transpose as conv3d_transpose
from situs._src.v1.layers.functions import dense as dense
from situs._src.v1.layers.functions import dropout as dropout
from situs._src.v1.layers.functions import flatten as flatten
from situs._src.v1.layers.functions import max_pooling1d as max_pooling1d
from situs._src.v1.layers.functions import max_pooling2d as max_pooling2d
from situs._src.v1.layers.functions import max_pooling3d as max_pooling3d
from situs._src.v1.layers.functions import separable_conv2d as separable_conv2d
from situs._src.v1.layers.normalization import BatchNormalization as BatchNormalization
from situs._src.v1.layers.pooling import AveragePooling1D as AveragePooling1D
from situs._src.v1.layers.pooling import AveragePooling2D as AveragePooling2D
from situs._src.v1.layers.pooling import AveragePooling3D as AveragePooling3D
from situs._src.v1.layers.pooling import MaxPooling1D as MaxPooling1D
from situs._src.v1.layers.pooling import MaxPooling2D as MaxPooling2D
from situs._src.v1.layers.pooling import MaxPooling3D as MaxPooling3D

_build_graphs(globals())
