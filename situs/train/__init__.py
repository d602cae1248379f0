"""``tf.train``."""

from situs.checkpoints.checkpoint import Checkpoint as Checkpoint
from situs.checkpoints.finding import latest_checkpoint as latest_checkpoint
from situs.checkpoints.finding import list_variables as list_variables
from situs.checkpoints.finding import load_checkpoint as load_checkpoint
from situs.checkpoints.finding import load_variable as load_variable
from situs.checkpoints.manager import CheckpointManager as CheckpointManager
from situs.checkpoints.state import get_checkpoint_state as get_checkpoint_state
from situs.checkpoints.waiting import checkpoints_iterator as checkpoints_iterator
from situs.training.coordinator import Coordinator as Coordinator
