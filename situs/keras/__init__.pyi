# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.layers.input import Input as Input
from situs._src.keras.models.model import Model as Model
from situs._src.keras.models.sequential import Sequential as Sequential
from situs._src.keras.policy import DTypePolicy as DTypePolicy
from situs.keras import activations as activations
from situs.keras import constraints as constraints
from situs.keras import initializers as initializers
from situs.keras import layers as layers
from situs.keras import losses as losses
from situs.keras import metrics as metrics
from situs.keras import mixed_precision as mixed_precision
from situs.keras import models as models
from situs.keras import optimizers as optimizers
from situs.keras import regularizers as regularizers
from situs.keras import utils as utils
