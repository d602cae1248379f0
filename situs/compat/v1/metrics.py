"""``tf.metrics`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.metrics.area import auc as auc
from situs._src.v1.metrics.area import sensitivity_at_specificity as sensitivity_at_specificity
from situs._src.v1.metrics.area import specificity_at_sensitivity as specificity_at_sensitivity
from situs._src.v1.metrics.classes import mean_iou as mean_iou
from situs._src.v1.metrics.classes import mean_per_class_accuracy as mean_per_class_accuracy
from situs._src.v1.metrics.confusion import false_negatives as false_negatives
from situs._src.v1.metrics.confusion import false_positives as false_positives
from situs._src.v1.metrics.confusion import precision as precision
from situs._src.v1.metrics.confusion import recall as recall
from situs._src.v1.metrics.confusion import true_negatives as true_negatives
from situs._src.v1.metrics.confusion import true_positives as true_positives
from situs._src.v1.metrics.mean import accuracy as accuracy
from situs._src.v1.metrics.mean import mean as mean
from situs._src.v1.metrics.mean import mean_absolute_error as mean_absolute_error
from situs._src.v1.metrics.mean import mean_cosine_distance as mean_cosine_distance
from situs._src.v1.metrics.mean import mean_relative_error as mean_relative_error
from situs._src.v1.metrics.mean import mean_squared_error as mean_squared_error
from situs._src.v1.metrics.mean import mean_tensor as mean_tensor
from situs._src.v1.metrics.mean import percentage_below as percentage_below
from situs._src.v1.metrics.mean import root_mean_squared_error as root_mean_squared_error
from situs._src.v1.metrics.thresholds import false_negatives_at_thresholds as false_negatives_at_thresholds
from situs._src.v1.metrics.thresholds import false_positives_at_thresholds as false_positives_at_thresholds
from situs._src.v1.metrics.thresholds import precision_at_thresholds as precision_at_thresholds
from situs._src.v1.metrics.thresholds import recall_at_thresholds as recall_at_thresholds
from situs._src.v1.metrics.thresholds import true_negatives_at_thresholds as true_negatives_at_thresholds
from situs._src.v1.metrics.thresholds import true_positives_at_thresholds as true_positives_at_thresholds
from situs._src.v1.metrics.top_k import average_precision_at_k as average_precision_at_k
from situs._src.v1.metrics.top_k import precision_at_k as precision_at_k
from situs._src.v1.metrics.top_k import precision_at_top_k as precision_at_top_k
from situs._src.v1.metrics.top_k import recall_at_k as recall_at_k
from situs._src.v1.metrics.top_k import recall_at_top_k as recall_at_top_k
from situs._src.v1.metrics.top_k import sparse_average_precision_at_k as sparse_average_precision_at_k
from situs._src.v1.metrics.top_k import sparse_precision_at_k as sparse_precision_at_k

_build_graphs(globals())
