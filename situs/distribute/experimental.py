"""``tf.distribute.experimental``: strategies and values that may still change."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.distribute.absent import ParameterServerStrategy as ParameterServerStrategy
from situs._src.distribute.absent import TPUStrategy as TPUStrategy
from situs._src.distribute.communication import CommunicationImplementation as CollectiveCommunication
from situs._src.distribute.communication import CommunicationImplementation as CommunicationImplementation
from situs._src.distribute.communication import CommunicationOptions as CommunicationOptions
from situs._src.distribute.multi_worker import ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from situs._src.distribute.strategy import CentralStorageStrategy as CentralStorageStrategy
from situs._src.distribute.strategy import ValueContext as ValueContext
