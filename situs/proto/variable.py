"""Variables of graphs as messages; fields and numbers are TensorFlow's.

>>> print(VariableDef(variable_name="w:0", trainable=True))
variable_name: "w:0"
trainable: true
<BLANKLINE>
"""

from __future__ import annotations

from situs.proto.enums import EnumType
from situs.proto.field import Nested, RepeatedScalar, Scalar
from situs.proto.kind import BOOL, INT64, STRING
from situs.proto.message import Message


class SaveSliceInfoDef(Message):
    """Which part of a larger variable a variable is."""

    full_name = Scalar(1, STRING)
    full_shape = RepeatedScalar(2, INT64)
    var_offset = RepeatedScalar(3, INT64)
    var_shape = RepeatedScalar(4, INT64)


class VariableDef(Message):
    """A variable of a graph: the names of the operations and tensors it is made of."""

    VariableSynchronization = EnumType(
        "VariableSynchronization",
        VARIABLE_SYNCHRONIZATION_AUTO=0,
        VARIABLE_SYNCHRONIZATION_NONE=1,
        VARIABLE_SYNCHRONIZATION_ON_WRITE=2,
        VARIABLE_SYNCHRONIZATION_ON_READ=3,
    )
    VariableAggregation = EnumType(
        "VariableAggregation",
        VARIABLE_AGGREGATION_NONE=0,
        VARIABLE_AGGREGATION_SUM=1,
        VARIABLE_AGGREGATION_MEAN=2,
        VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA=3,
    )

    variable_name = Scalar(1, STRING)
    initializer_name = Scalar(2, STRING)
    snapshot_name = Scalar(3, STRING)
    save_slice_info_def = Nested(4, SaveSliceInfoDef)
    is_resource = Scalar(5, BOOL)
    initial_value_name = Scalar(6, STRING)
    trainable = Scalar(7, BOOL)
    synchronization = Scalar(8, VariableSynchronization)
    aggregation = Scalar(9, VariableAggregation)
