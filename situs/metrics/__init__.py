"""``tf.metrics``: the metrics of Keras. Those of TensorFlow 1 are in ``tf.compat.v1.metrics``."""

from situs.losses import BCE as BCE
from situs.losses import KLD as KLD
from situs.losses import MAE as MAE
from situs.losses import MAPE as MAPE
from situs.losses import MSE as MSE
from situs.losses import MSLE as MSLE
from situs.losses import bce as bce
from situs.losses import binary_crossentropy as binary_crossentropy
from situs.losses import binary_focal_crossentropy as binary_focal_crossentropy
from situs.losses import categorical_crossentropy as categorical_crossentropy
from situs.losses import categorical_focal_crossentropy as categorical_focal_crossentropy
from situs.losses import categorical_hinge as categorical_hinge
from situs.losses import hinge as hinge
from situs.losses import huber as huber
from situs.losses import kl_divergence as kl_divergence
from situs.losses import kld as kld
from situs.losses import kullback_leibler_divergence as kullback_leibler_divergence
from situs.losses import log_cosh as log_cosh
from situs.losses import logcosh as logcosh
from situs.losses import mae as mae
from situs.losses import mape as mape
from situs.losses import mean_absolute_error as mean_absolute_error
from situs.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
from situs.losses import mean_squared_error as mean_squared_error
from situs.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from situs.losses import mse as mse
from situs.losses import msle as msle
from situs.losses import poisson as poisson
from situs.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from situs.losses import squared_hinge as squared_hinge
from situs.metrics.accuracies import Accuracy as Accuracy
from situs.metrics.accuracies import BinaryAccuracy as BinaryAccuracy
from situs.metrics.accuracies import CategoricalAccuracy as CategoricalAccuracy
from situs.metrics.accuracies import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from situs.metrics.accuracies import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from situs.metrics.accuracies import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from situs.metrics.accuracies import binary_accuracy as binary_accuracy
from situs.metrics.accuracies import categorical_accuracy as categorical_accuracy
from situs.metrics.accuracies import sparse_categorical_accuracy as sparse_categorical_accuracy
from situs.metrics.accuracies import sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy
from situs.metrics.accuracies import top_k_categorical_accuracy as top_k_categorical_accuracy
from situs.metrics.area import AUC as AUC
from situs.metrics.base import Metric as Metric
from situs.metrics.confusion import FalseNegatives as FalseNegatives
from situs.metrics.confusion import FalsePositives as FalsePositives
from situs.metrics.confusion import Precision as Precision
from situs.metrics.confusion import Recall as Recall
from situs.metrics.confusion import TrueNegatives as TrueNegatives
from situs.metrics.confusion import TruePositives as TruePositives
from situs.metrics.finding import deserialize as deserialize
from situs.metrics.finding import get as get
from situs.metrics.finding import serialize as serialize
from situs.metrics.means import BinaryCrossentropy as BinaryCrossentropy
from situs.metrics.means import CategoricalCrossentropy as CategoricalCrossentropy
from situs.metrics.means import CategoricalHinge as CategoricalHinge
from situs.metrics.means import CosineSimilarity as CosineSimilarity
from situs.metrics.means import Hinge as Hinge
from situs.metrics.means import KLDivergence as KLDivergence
from situs.metrics.means import LogCoshError as LogCoshError
from situs.metrics.means import MeanAbsoluteError as MeanAbsoluteError
from situs.metrics.means import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from situs.metrics.means import MeanSquaredError as MeanSquaredError
from situs.metrics.means import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from situs.metrics.means import Poisson as Poisson
from situs.metrics.means import RootMeanSquaredError as RootMeanSquaredError
from situs.metrics.means import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from situs.metrics.means import SquaredHinge as SquaredHinge
from situs.metrics.overlap import BinaryIoU as BinaryIoU
from situs.metrics.overlap import IoU as IoU
from situs.metrics.overlap import MeanIoU as MeanIoU
from situs.metrics.overlap import OneHotIoU as OneHotIoU
from situs.metrics.overlap import OneHotMeanIoU as OneHotMeanIoU
from situs.metrics.rates import PrecisionAtRecall as PrecisionAtRecall
from situs.metrics.rates import RecallAtPrecision as RecallAtPrecision
from situs.metrics.rates import SensitivityAtSpecificity as SensitivityAtSpecificity
from situs.metrics.rates import SpecificityAtSensitivity as SpecificityAtSensitivity
from situs.metrics.reduction import Mean as Mean
from situs.metrics.reduction import MeanMetricWrapper as MeanMetricWrapper
from situs.metrics.reduction import MeanTensor as MeanTensor
from situs.metrics.reduction import Sum as Sum
from situs.metrics.scores import F1Score as F1Score
from situs.metrics.scores import FBetaScore as FBetaScore
from situs.metrics.scores import R2Score as R2Score

__all__ = [
    "AUC",
    "BCE",
    "KLD",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "Accuracy",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "BinaryIoU",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "F1Score",
    "FBetaScore",
    "FalseNegatives",
    "FalsePositives",
    "Hinge",
    "IoU",
    "KLDivergence",
    "LogCoshError",
    "Mean",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanIoU",
    "MeanMetricWrapper",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "MeanTensor",
    "Metric",
    "OneHotIoU",
    "OneHotMeanIoU",
    "Poisson",
    "Precision",
    "PrecisionAtRecall",
    "R2Score",
    "Recall",
    "RecallAtPrecision",
    "RootMeanSquaredError",
    "SensitivityAtSpecificity",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy",
    "SpecificityAtSensitivity",
    "SquaredHinge",
    "Sum",
    "TopKCategoricalAccuracy",
    "TrueNegatives",
    "TruePositives",
    "bce",
    "binary_accuracy",
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_accuracy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_hinge",
    "deserialize",
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
    "sparse_categorical_accuracy",
    "sparse_categorical_crossentropy",
    "sparse_top_k_categorical_accuracy",
    "squared_hinge",
    "top_k_categorical_accuracy",
]
