"""``tf.AttrValue``: the value of one attribute of a node, exactly one of its fields.

>>> AttrValue(type=1)
type: DT_FLOAT
<BLANKLINE>
>>> AttrValue(i=0).WhichOneof("value")
'i'
"""

from __future__ import annotations

from situs.proto.field import MessageMapField, Nested, RepeatedNested, RepeatedScalar, Scalar
from situs.proto.kind import BOOL, BYTES, FLOAT, INT64, STRING
from situs.proto.message import Message
from situs.proto.tensor import DataType, TensorProto, TensorShapeProto


class AttrValue(Message):
    """The value of one attribute of a node."""

    class ListValue(Message):
        """A list of values; by convention all of one kind."""

        s = RepeatedScalar(2, BYTES)
        i = RepeatedScalar(3, INT64)
        f = RepeatedScalar(4, FLOAT)
        b = RepeatedScalar(5, BOOL)
        type = RepeatedScalar(6, DataType)
        shape = RepeatedNested(7, TensorShapeProto)
        tensor = RepeatedNested(8, TensorProto)
        func = RepeatedNested(9, lambda: NameAttrList)

    s = Scalar(2, BYTES, oneof="value")
    i = Scalar(3, INT64, oneof="value")
    f = Scalar(4, FLOAT, oneof="value")
    b = Scalar(5, BOOL, oneof="value")
    type = Scalar(6, DataType, oneof="value")
    shape = Nested(7, TensorShapeProto, oneof="value")
    tensor = Nested(8, TensorProto, oneof="value")
    list = Nested(1, ListValue, oneof="value")
    func = Nested(10, lambda: NameAttrList, oneof="value")
    placeholder = Scalar(9, STRING, oneof="value")


class NameAttrList(Message):
    """A function by name, with the attributes it is called with."""

    name = Scalar(1, STRING)
    attr = MessageMapField(2, STRING, AttrValue)
