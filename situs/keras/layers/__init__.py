"""``tf.keras.layers``."""

import situs.keras.layers.operators  # gives the tensors of drawn models Python's operators
from situs.keras.layers.attention import MultiHeadAttention as MultiHeadAttention
from situs.keras.layers.base import Layer as Layer
from situs.keras.layers.borders import Cropping1D as Cropping1D
from situs.keras.layers.borders import Cropping2D as Cropping2D
from situs.keras.layers.borders import UpSampling1D as UpSampling1D
from situs.keras.layers.borders import UpSampling2D as UpSampling2D
from situs.keras.layers.borders import ZeroPadding1D as ZeroPadding1D
from situs.keras.layers.borders import ZeroPadding2D as ZeroPadding2D
from situs.keras.layers.cells import GRUCell as GRUCell
from situs.keras.layers.cells import LSTMCell as LSTMCell
from situs.keras.layers.cells import SimpleRNNCell as SimpleRNNCell
from situs.keras.layers.convolution import Conv1D as Conv1D
from situs.keras.layers.convolution import Conv1DTranspose as Conv1DTranspose
from situs.keras.layers.convolution import Conv2D as Conv2D
from situs.keras.layers.convolution import Conv2DTranspose as Conv2DTranspose
from situs.keras.layers.convolution import Conv3D as Conv3D
from situs.keras.layers.dense import Dense as Dense
from situs.keras.layers.dense import EinsumDense as EinsumDense
from situs.keras.layers.depthwise import DepthwiseConv2D as DepthwiseConv2D
from situs.keras.layers.depthwise import SeparableConv2D as SeparableConv2D
from situs.keras.layers.embedding import Embedding as Embedding
from situs.keras.layers.input import Input as Input
from situs.keras.layers.input import InputLayer as InputLayer
from situs.keras.layers.merging import Add as Add
from situs.keras.layers.merging import Average as Average
from situs.keras.layers.merging import Concatenate as Concatenate
from situs.keras.layers.merging import Dot as Dot
from situs.keras.layers.merging import Maximum as Maximum
from situs.keras.layers.merging import Minimum as Minimum
from situs.keras.layers.merging import Multiply as Multiply
from situs.keras.layers.merging import Subtract as Subtract
from situs.keras.layers.merging import add as add
from situs.keras.layers.merging import average as average
from situs.keras.layers.merging import concatenate as concatenate
from situs.keras.layers.merging import dot as dot
from situs.keras.layers.merging import maximum as maximum
from situs.keras.layers.merging import minimum as minimum
from situs.keras.layers.merging import multiply as multiply
from situs.keras.layers.merging import subtract as subtract
from situs.keras.layers.normalization import BatchNormalization as BatchNormalization
from situs.keras.layers.normalization import LayerNormalization as LayerNormalization
from situs.keras.layers.normalization import RMSNormalization as RMSNormalization
from situs.keras.layers.pooling import AveragePooling1D as AveragePooling1D
from situs.keras.layers.pooling import AveragePooling2D as AveragePooling2D
from situs.keras.layers.pooling import AveragePooling3D as AveragePooling3D
from situs.keras.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from situs.keras.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from situs.keras.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from situs.keras.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from situs.keras.layers.pooling import MaxPooling1D as MaxPooling1D
from situs.keras.layers.pooling import MaxPooling2D as MaxPooling2D
from situs.keras.layers.pooling import MaxPooling3D as MaxPooling3D
from situs.keras.layers.recurrent import GRU as GRU
from situs.keras.layers.recurrent import LSTM as LSTM
from situs.keras.layers.recurrent import RNN as RNN
from situs.keras.layers.recurrent import Bidirectional as Bidirectional
from situs.keras.layers.recurrent import SimpleRNN as SimpleRNN
from situs.keras.layers.recurrent import TimeDistributed as TimeDistributed
from situs.keras.layers.simple import ELU as ELU
from situs.keras.layers.simple import Activation as Activation
from situs.keras.layers.simple import Dropout as Dropout
from situs.keras.layers.simple import Flatten as Flatten
from situs.keras.layers.simple import GaussianNoise as GaussianNoise
from situs.keras.layers.simple import Identity as Identity
from situs.keras.layers.simple import Lambda as Lambda
from situs.keras.layers.simple import LeakyReLU as LeakyReLU
from situs.keras.layers.simple import Permute as Permute
from situs.keras.layers.simple import ReLU as ReLU
from situs.keras.layers.simple import RepeatVector as RepeatVector
from situs.keras.layers.simple import Rescaling as Rescaling
from situs.keras.layers.simple import Reshape as Reshape
from situs.keras.layers.simple import Softmax as Softmax
from situs.keras.layers.simple import SpatialDropout1D as SpatialDropout1D
from situs.keras.layers.simple import SpatialDropout2D as SpatialDropout2D

# The same by their other names.
Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution2DTranspose = Conv2DTranspose
AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D

__all__ = [
    "ELU",
    "GRU",
    "LSTM",
    "RNN",
    "Activation",
    "Add",
    "Average",
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "AvgPool1D",
    "AvgPool2D",
    "BatchNormalization",
    "Bidirectional",
    "Concatenate",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Convolution1D",
    "Convolution2D",
    "Convolution2DTranspose",
    "Cropping1D",
    "Cropping2D",
    "Dense",
    "DepthwiseConv2D",
    "Dot",
    "Dropout",
    "EinsumDense",
    "Embedding",
    "Flatten",
    "GRUCell",
    "GaussianNoise",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "Identity",
    "Input",
    "InputLayer",
    "LSTMCell",
    "Lambda",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "Maximum",
    "Minimum",
    "MultiHeadAttention",
    "Multiply",
    "Permute",
    "RMSNormalization",
    "ReLU",
    "RepeatVector",
    "Rescaling",
    "Reshape",
    "SeparableConv2D",
    "SimpleRNN",
    "SimpleRNNCell",
    "Softmax",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "Subtract",
    "TimeDistributed",
    "UpSampling1D",
    "UpSampling2D",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "add",
    "average",
    "concatenate",
    "dot",
    "maximum",
    "minimum",
    "multiply",
    "subtract",
]
