"""``tf.feature_column`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.feature_columns.columns import bucketized_column as bucketized_column
from situs._src.v1.feature_columns.columns import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
)
from situs._src.v1.feature_columns.columns import categorical_column_with_identity as categorical_column_with_identity
from situs._src.v1.feature_columns.columns import (
    categorical_column_with_vocabulary_file_v1 as categorical_column_with_vocabulary_file,
)
from situs._src.v1.feature_columns.columns import (
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
)
from situs._src.v1.feature_columns.columns import crossed_column as crossed_column
from situs._src.v1.feature_columns.columns import embedding_column as embedding_column
from situs._src.v1.feature_columns.columns import indicator_column as indicator_column
from situs._src.v1.feature_columns.columns import make_parse_example_spec as make_parse_example_spec
from situs._src.v1.feature_columns.columns import numeric_column as numeric_column
from situs._src.v1.feature_columns.columns import weighted_categorical_column as weighted_categorical_column
from situs._src.v1.feature_columns.layers import input_layer as input_layer
from situs._src.v1.feature_columns.layers import linear_model as linear_model
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
