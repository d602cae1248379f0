"""``tf.compat.v1.metrics``."""

from situs.compat.v1.door import open_door as _open_door
from situs.streaming.area import auc as auc
from situs.streaming.area import sensitivity_at_specificity as sensitivity_at_specificity
from situs.streaming.area import specificity_at_sensitivity as specificity_at_sensitivity
from situs.streaming.classes import mean_iou as mean_iou
from situs.streaming.classes import mean_per_class_accuracy as mean_per_class_accuracy
from situs.streaming.confusion import false_negatives as false_negatives
from situs.streaming.confusion import false_positives as false_positives
from situs.streaming.confusion import precision as precision
from situs.streaming.confusion import recall as recall
from situs.streaming.confusion import true_negatives as true_negatives
from situs.streaming.confusion import true_positives as true_positives
from situs.streaming.mean import accuracy as accuracy
from situs.streaming.mean import mean as mean
from situs.streaming.mean import mean_absolute_error as mean_absolute_error
from situs.streaming.mean import mean_cosine_distance as mean_cosine_distance
from situs.streaming.mean import mean_relative_error as mean_relative_error
from situs.streaming.mean import mean_squared_error as mean_squared_error
from situs.streaming.mean import mean_tensor as mean_tensor
from situs.streaming.mean import percentage_below as percentage_below
from situs.streaming.mean import root_mean_squared_error as root_mean_squared_error
from situs.streaming.thresholds import false_negatives_at_thresholds as false_negatives_at_thresholds
from situs.streaming.thresholds import false_positives_at_thresholds as false_positives_at_thresholds
from situs.streaming.thresholds import precision_at_thresholds as precision_at_thresholds
from situs.streaming.thresholds import recall_at_thresholds as recall_at_thresholds
from situs.streaming.thresholds import true_negatives_at_thresholds as true_negatives_at_thresholds
from situs.streaming.thresholds import true_positives_at_thresholds as true_positives_at_thresholds
from situs.streaming.top_k import average_precision_at_k as average_precision_at_k
from situs.streaming.top_k import precision_at_k as precision_at_k
from situs.streaming.top_k import precision_at_top_k as precision_at_top_k
from situs.streaming.top_k import recall_at_k as recall_at_k
from situs.streaming.top_k import recall_at_top_k as recall_at_top_k
from situs.streaming.top_k import sparse_average_precision_at_k as sparse_average_precision_at_k
from situs.streaming.top_k import sparse_precision_at_k as sparse_precision_at_k

_open_door(globals())
