"""``tf.losses``: the losses of Keras. Those of TensorFlow 1 are in ``tf.compat.v1.losses``."""

from situs.losses.base import Loss as Loss
from situs.losses.base import LossFunctionWrapper as LossFunctionWrapper
from situs.losses.base import Reduction as Reduction
from situs.losses.cross_entropy import binary_crossentropy as binary_crossentropy
from situs.losses.cross_entropy import binary_focal_crossentropy as binary_focal_crossentropy
from situs.losses.cross_entropy import categorical_crossentropy as categorical_crossentropy
from situs.losses.cross_entropy import categorical_focal_crossentropy as categorical_focal_crossentropy
from situs.losses.cross_entropy import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from situs.losses.finding import deserialize as deserialize
from situs.losses.finding import get as get
from situs.losses.finding import serialize as serialize
from situs.losses.formulas import categorical_hinge as categorical_hinge
from situs.losses.formulas import cosine_similarity as cosine_similarity
from situs.losses.formulas import dice as dice
from situs.losses.formulas import hinge as hinge
from situs.losses.formulas import huber as huber
from situs.losses.formulas import kl_divergence as kl_divergence
from situs.losses.formulas import log_cosh as log_cosh
from situs.losses.formulas import mean_absolute_error as mean_absolute_error
from situs.losses.formulas import mean_absolute_percentage_error as mean_absolute_percentage_error
from situs.losses.formulas import mean_squared_error as mean_squared_error
from situs.losses.formulas import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from situs.losses.formulas import poisson as poisson
from situs.losses.formulas import squared_hinge as squared_hinge
from situs.losses.formulas import tversky as tversky
from situs.losses.kinds import BinaryCrossentropy as BinaryCrossentropy
from situs.losses.kinds import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from situs.losses.kinds import CategoricalCrossentropy as CategoricalCrossentropy
from situs.losses.kinds import CategoricalFocalCrossentropy as CategoricalFocalCrossentropy
from situs.losses.kinds import CategoricalHinge as CategoricalHinge
from situs.losses.kinds import CosineSimilarity as CosineSimilarity
from situs.losses.kinds import Dice as Dice
from situs.losses.kinds import Hinge as Hinge
from situs.losses.kinds import Huber as Huber
from situs.losses.kinds import KLDivergence as KLDivergence
from situs.losses.kinds import LogCosh as LogCosh
from situs.losses.kinds import MeanAbsoluteError as MeanAbsoluteError
from situs.losses.kinds import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from situs.losses.kinds import MeanSquaredError as MeanSquaredError
from situs.losses.kinds import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from situs.losses.kinds import Poisson as Poisson
from situs.losses.kinds import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from situs.losses.kinds import SquaredHinge as SquaredHinge
from situs.losses.kinds import Tversky as Tversky

bce = BCE = binary_crossentropy
kld = KLD = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
mse = MSE = mean_squared_error
msle = MSLE = mean_squared_logarithmic_error

__all__ = [
    "BCE",
    "KLD",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "BinaryCrossentropy",
    "BinaryFocalCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalFocalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "Dice",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "LossFunctionWrapper",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "Reduction",
    "SparseCategoricalCrossentropy",
    "SquaredHinge",
    "Tversky",
    "bce",
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_hinge",
    "cosine_similarity",
    "deserialize",
    "dice",
    "get",
    "hinge",
    "huber",
    "kl_divergence",
    "kld",
    "kullback_leibler_divergence",
    "log_cosh",
    "logcosh",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "msle",
    "poisson",
    "serialize",
    "sparse_categorical_crossentropy",
    "squared_hinge",
    "tversky",
]
