"""``tf.compat.v1.losses``."""

from situs.compat.v1.door import open_door as _open_door
from situs.losses.classic import Reduction as Reduction
from situs.losses.classic import absolute_difference as absolute_difference
from situs.losses.classic import compute_weighted_loss as compute_weighted_loss
from situs.losses.classic import cosine_distance as cosine_distance
from situs.losses.classic import hinge_loss as hinge_loss
from situs.losses.classic import huber_loss as huber_loss
from situs.losses.classic import log_loss as log_loss
from situs.losses.classic import mean_pairwise_squared_error as mean_pairwise_squared_error
from situs.losses.classic import mean_squared_error as mean_squared_error
from situs.losses.classic import sigmoid_cross_entropy as sigmoid_cross_entropy
from situs.losses.classic import softmax_cross_entropy as softmax_cross_entropy
from situs.losses.classic import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
from situs.losses.collection import add_loss as add_loss
from situs.losses.collection import get_losses as get_losses
from situs.losses.collection import get_regularization_loss as get_regularization_loss
from situs.losses.collection import get_regularization_losses as get_regularization_losses
from situs.losses.collection import get_total_loss as get_total_loss

_open_door(globals())
