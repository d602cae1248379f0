"""``tf.keras``."""

from situs.keras import losses as losses
from situs.keras import metrics as metrics
from situs.keras import mixed_precision as mixed_precision
from situs.keras import optimizers as optimizers
