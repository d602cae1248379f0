"""``tf.losses`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.loss_collection import add_loss as add_loss
from situs._src.v1.loss_collection import get_losses as get_losses
from situs._src.v1.loss_collection import get_regularization_loss as get_regularization_loss
from situs._src.v1.loss_collection import get_regularization_losses as get_regularization_losses
from situs._src.v1.loss_collection import get_total_loss as get_total_loss
from situs._src.v1.losses import Reduction as Reduction
from situs._src.v1.losses import absolute_difference as absolute_difference
from situs._src.v1.losses import compute_weighted_loss as compute_weighted_loss
from situs._src.v1.losses import cosine_distance as cosine_distance
from situs._src.v1.losses import hinge_loss as hinge_loss
from situs._src.v1.losses import huber_loss as huber_loss
from situs._src.v1.losses import log_loss as log_loss
from situs._src.v1.losses import mean_pairwise_squared_error as mean_pairwise_squared_error
from situs._src.v1.losses import mean_squared_error as mean_squared_error
from situs._src.v1.losses import sigmoid_cross_entropy as sigmoid_cross_entropy
from situs._src.v1.losses import softmax_cross_entropy as softmax_cross_entropy
from situs._src.v1.losses import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy

_build_graphs(globals())
