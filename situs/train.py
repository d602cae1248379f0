"""``tf.train``: optimizers, learning rates and averages, checkpoints, examples in records, coordinators."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.proto.example import BytesList as BytesList
from situs._src.base.proto.example import Example as Example
from situs._src.base.proto.example import Feature as Feature
from situs._src.base.proto.example import FeatureList as FeatureList
from situs._src.base.proto.example import FeatureLists as FeatureLists
from situs._src.base.proto.example import Features as Features
from situs._src.base.proto.example import FloatList as FloatList
from situs._src.base.proto.example import Int64List as Int64List
from situs._src.base.proto.example import SequenceExample as SequenceExample
from situs._src.checkpoints.checkpoint import Checkpoint as Checkpoint
from situs._src.checkpoints.finding import latest_checkpoint as latest_checkpoint
from situs._src.checkpoints.finding import list_variables as list_variables
from situs._src.checkpoints.finding import load_checkpoint as load_checkpoint
from situs._src.checkpoints.finding import load_variable as load_variable
from situs._src.checkpoints.manager import CheckpointManager as CheckpointManager
from situs._src.checkpoints.options import CheckpointOptions as CheckpointOptions
from situs._src.checkpoints.state import get_checkpoint_state as get_checkpoint_state
from situs._src.checkpoints.views import TrackableView as TrackableView
from situs._src.checkpoints.waiting import checkpoints_iterator as checkpoints_iterator
from situs._src.v1.optimizers.base import Optimizer as Optimizer
from situs._src.v1.optimizers.decay import cosine_decay as cosine_decay
from situs._src.v1.optimizers.decay import cosine_decay_restarts as cosine_decay_restarts
from situs._src.v1.optimizers.decay import exponential_decay as exponential_decay
from situs._src.v1.optimizers.decay import inverse_time_decay as inverse_time_decay
from situs._src.v1.optimizers.decay import linear_cosine_decay as linear_cosine_decay
from situs._src.v1.optimizers.decay import natural_exp_decay as natural_exp_decay
from situs._src.v1.optimizers.decay import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from situs._src.v1.optimizers.decay import piecewise_constant as piecewise_constant
from situs._src.v1.optimizers.decay import piecewise_constant as piecewise_constant_decay
from situs._src.v1.optimizers.decay import polynomial_decay as polynomial_decay
from situs._src.v1.optimizers.global_step import assert_global_step as assert_global_step
from situs._src.v1.optimizers.global_step import create_global_step as create_global_step
from situs._src.v1.optimizers.global_step import get_global_step as get_global_step
from situs._src.v1.optimizers.global_step import get_or_create_global_step as get_or_create_global_step
from situs._src.v1.optimizers.global_step import global_step as global_step
from situs._src.v1.optimizers.moving_average import ExponentialMovingAverage as ExponentialMovingAverage
from situs._src.v1.optimizers.optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from situs._src.v1.optimizers.optimizers import AdagradOptimizer as AdagradOptimizer
from situs._src.v1.optimizers.optimizers import AdamOptimizer as AdamOptimizer
from situs._src.v1.optimizers.optimizers import FtrlOptimizer as FtrlOptimizer
from situs._src.v1.optimizers.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from situs._src.v1.optimizers.optimizers import MomentumOptimizer as MomentumOptimizer
from situs._src.v1.optimizers.optimizers import RMSPropOptimizer as RMSPropOptimizer
from situs._src.v1.queues.coordinator import Coordinator as Coordinator
