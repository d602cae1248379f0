"""``tf.compat.v1.train``."""

from situs.checkpoints.checkpoint import CheckpointV1 as Checkpoint
from situs.checkpoints.finding import checkpoint_exists as checkpoint_exists
from situs.checkpoints.finding import get_checkpoint_mtimes as get_checkpoint_mtimes
from situs.checkpoints.finding import latest_checkpoint as latest_checkpoint
from situs.checkpoints.finding import list_variables as list_variables
from situs.checkpoints.finding import load_checkpoint as load_checkpoint
from situs.checkpoints.finding import load_variable as load_variable
from situs.checkpoints.finding import remove_checkpoint as remove_checkpoint
from situs.checkpoints.manager import CheckpointManager as CheckpointManager
from situs.checkpoints.messages import SaverDef as SaverDef
from situs.checkpoints.meta_files import import_meta_graph as import_meta_graph
from situs.checkpoints.meta_graph import export_meta_graph as export_meta_graph
from situs.checkpoints.reader import CheckpointReader as NewCheckpointReader
from situs.checkpoints.saver import Saver as Saver
from situs.checkpoints.state import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from situs.checkpoints.state import get_checkpoint_state as get_checkpoint_state
from situs.checkpoints.state import update_checkpoint_state as update_checkpoint_state
from situs.checkpoints.waiting import checkpoints_iterator as checkpoints_iterator
from situs.compat.v1.door import open_door as _open_door
from situs.importing import write_graph as write_graph
from situs.placement.replicas import replica_device_setter as replica_device_setter
from situs.training import queue_runner as queue_runner
from situs.training.batch import batch as batch
from situs.training.batch import batch_join as batch_join
from situs.training.batch import maybe_batch as maybe_batch
from situs.training.batch import maybe_batch_join as maybe_batch_join
from situs.training.batch import maybe_shuffle_batch as maybe_shuffle_batch
from situs.training.batch import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from situs.training.batch import shuffle_batch as shuffle_batch
from situs.training.batch import shuffle_batch_join as shuffle_batch_join
from situs.training.coordinator import Coordinator as Coordinator
from situs.training.coordinator import LooperThread as LooperThread
from situs.training.input import input_producer as input_producer
from situs.training.input import limit_epochs as limit_epochs
from situs.training.input import range_input_producer as range_input_producer
from situs.training.input import slice_input_producer as slice_input_producer
from situs.training.input import string_input_producer as string_input_producer
from situs.training.queue_runner import QueueRunner as QueueRunner
from situs.training.queue_runner import add_queue_runner as add_queue_runner
from situs.training.queue_runner import start_queue_runners as start_queue_runners

_open_door(globals())
