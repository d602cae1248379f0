"""``tf.nn`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.math import sigmoid as sigmoid
from situs._src.ops.math import tanh as tanh
from situs._src.ops.nn.activation import crelu_v1 as crelu
from situs._src.ops.nn.activation import elu as elu
from situs._src.ops.nn.activation import gelu as gelu
from situs._src.ops.nn.activation import leaky_relu as leaky_relu
from situs._src.ops.nn.activation import log_softmax_v1 as log_softmax
from situs._src.ops.nn.activation import relu as relu
from situs._src.ops.nn.activation import relu6 as relu6
from situs._src.ops.nn.activation import selu as selu
from situs._src.ops.nn.activation import silu as silu
from situs._src.ops.nn.activation import silu as swish
from situs._src.ops.nn.activation import softmax_v1 as softmax
from situs._src.ops.nn.activation import softplus as softplus
from situs._src.ops.nn.activation import softsign as softsign
from situs._src.ops.nn.attention import dot_product_attention as dot_product_attention
from situs._src.ops.nn.bias import bias_add as bias_add
from situs._src.ops.nn.bias import relu_layer as relu_layer
from situs._src.ops.nn.bias import xw_plus_b as xw_plus_b
from situs._src.ops.nn.candidates import all_candidate_sampler as all_candidate_sampler
from situs._src.ops.nn.candidates import compute_accidental_hits as compute_accidental_hits
from situs._src.ops.nn.candidates import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from situs._src.ops.nn.candidates import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from situs._src.ops.nn.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from situs._src.ops.nn.conv import atrous_conv2d as atrous_conv2d
from situs._src.ops.nn.conv import conv1d_v1 as conv1d
from situs._src.ops.nn.conv import conv2d_v1 as conv2d
from situs._src.ops.nn.conv import conv3d_v1 as conv3d
from situs._src.ops.nn.conv import convolution_v1 as convolution
from situs._src.ops.nn.conv_transpose import atrous_conv2d_transpose as atrous_conv2d_transpose
from situs._src.ops.nn.conv_transpose import conv1d_transpose as conv1d_transpose
from situs._src.ops.nn.conv_transpose import conv2d_transpose_v1 as conv2d_transpose
from situs._src.ops.nn.conv_transpose import conv3d_transpose_v1 as conv3d_transpose
from situs._src.ops.nn.conv_transpose import conv_transpose as conv_transpose
from situs._src.ops.nn.depthwise import depthwise_conv2d as depthwise_conv2d_native
from situs._src.ops.nn.depthwise import depthwise_conv2d_v1 as depthwise_conv2d
from situs._src.ops.nn.depthwise import separable_conv2d_v1 as separable_conv2d
from situs._src.ops.nn.dropout import dropout_v1 as dropout
from situs._src.ops.nn.embedding import embedding_lookup_v1 as embedding_lookup
from situs._src.ops.nn.isotonic import isotonic_regression as isotonic_regression
from situs._src.ops.nn.loss import l2_loss as l2_loss
from situs._src.ops.nn.loss import log_poisson_loss as log_poisson_loss
from situs._src.ops.nn.loss import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from situs._src.ops.nn.loss import softmax_cross_entropy_with_logits_v1 as softmax_cross_entropy_with_logits
from situs._src.ops.nn.loss import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from situs._src.ops.nn.loss import (
    sparse_softmax_cross_entropy_with_logits_v1 as sparse_softmax_cross_entropy_with_logits,
)
from situs._src.ops.nn.loss import weighted_cross_entropy_with_logits_v1 as weighted_cross_entropy_with_logits
from situs._src.ops.nn.moments import normalize_moments as normalize_moments
from situs._src.ops.nn.moments import sufficient_statistics_v1 as sufficient_statistics
from situs._src.ops.nn.moments import weighted_moments_v1 as weighted_moments
from situs._src.ops.nn.normalize import batch_norm_with_global_normalization_v1 as batch_norm_with_global_normalization
from situs._src.ops.nn.normalize import batch_normalization as batch_normalization
from situs._src.ops.nn.normalize import fused_batch_norm as fused_batch_norm
from situs._src.ops.nn.normalize import l2_normalize as l2_normalize
from situs._src.ops.nn.normalize import layer_norm as layer_norm
from situs._src.ops.nn.normalize import local_response_normalization as local_response_normalization
from situs._src.ops.nn.normalize import local_response_normalization as lrn
from situs._src.ops.nn.normalize import moments_v1 as moments
from situs._src.ops.nn.normalize import zero_fraction as zero_fraction
from situs._src.ops.nn.pool import avg_pool as avg_pool_v2
from situs._src.ops.nn.pool import avg_pool1d as avg_pool1d
from situs._src.ops.nn.pool import avg_pool3d as avg_pool3d
from situs._src.ops.nn.pool import avg_pool_v1 as avg_pool
from situs._src.ops.nn.pool import avg_pool_v1 as avg_pool2d
from situs._src.ops.nn.pool import max_pool as max_pool_v2
from situs._src.ops.nn.pool import max_pool1d as max_pool1d
from situs._src.ops.nn.pool import max_pool2d as max_pool2d
from situs._src.ops.nn.pool import max_pool3d as max_pool3d
from situs._src.ops.nn.pool import max_pool_v1 as max_pool
from situs._src.ops.nn.pool import max_pool_with_argmax_v1 as max_pool_with_argmax
from situs._src.ops.nn.pool import pool_v1 as pool
from situs._src.ops.nn.sampled_loss import compute_average_loss as compute_average_loss
from situs._src.ops.nn.sampled_loss import nce_loss_v1 as nce_loss
from situs._src.ops.nn.sampled_loss import sampled_softmax_loss_v1 as sampled_softmax_loss
from situs._src.ops.nn.sampled_loss import scale_regularization_loss as scale_regularization_loss
from situs._src.ops.rearrange import depth_to_space_v1 as depth_to_space
from situs._src.ops.rearrange import space_to_batch_v1 as space_to_batch
from situs._src.ops.rearrange import space_to_depth_v1 as space_to_depth
from situs._src.ops.search import in_top_k_v1 as in_top_k
from situs._src.ops.search import top_k as top_k
from situs._src.v1.cells.rnn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from situs._src.v1.cells.rnn import dynamic_rnn as dynamic_rnn
from situs._src.v1.cells.rnn import raw_rnn as raw_rnn
from situs._src.v1.cells.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from situs._src.v1.cells.rnn import static_rnn as static_rnn
from situs._src.v1.cells.rnn import static_state_saving_rnn as static_state_saving_rnn
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs.compat.v1.nn import rnn_cell as rnn_cell

_build_graphs(globals())
