"""Functions inside a graph: a signature, a body of nodes, and which nodes give the results.

>>> FunctionDef(signature={"name": "f"}, ret={"y": "mul:z:0"}).signature.name
'f'
"""

from __future__ import annotations

from situs.proto.attribute import AttrValue
from situs.proto.field import MessageMapField, Nested, RepeatedNested, RepeatedScalar, Scalar, ValueMapField
from situs.proto.kind import BOOL, INT64, STRING, UINT32
from situs.proto.message import Message
from situs.proto.node import NodeDef
from situs.proto.tensor import DataType


class OpDef(Message):
    """The signature of an op or of a function."""

    class ArgDef(Message):
        """One input or output."""

        name = Scalar(1, STRING)
        description = Scalar(2, STRING)
        type = Scalar(3, DataType)
        type_attr = Scalar(4, STRING)
        number_attr = Scalar(5, STRING)
        type_list_attr = Scalar(6, STRING)
        is_ref = Scalar(16, BOOL)

    class AttrDef(Message):
        """One attribute."""

        name = Scalar(1, STRING)
        type = Scalar(2, STRING)
        default_value = Nested(3, AttrValue)
        description = Scalar(4, STRING)
        has_minimum = Scalar(5, BOOL)
        minimum = Scalar(6, INT64)
        allowed_values = Nested(7, AttrValue)

    name = Scalar(1, STRING)
    input_arg = RepeatedNested(2, ArgDef)
    output_arg = RepeatedNested(3, ArgDef)
    control_output = RepeatedScalar(20, STRING)
    attr = RepeatedNested(4, AttrDef)
    summary = Scalar(5, STRING)
    description = Scalar(6, STRING)
    is_commutative = Scalar(18, BOOL)
    is_aggregate = Scalar(16, BOOL)
    is_stateful = Scalar(17, BOOL)
    allows_uninitialized_input = Scalar(19, BOOL)
    is_distributed_communication = Scalar(21, BOOL)


class FunctionDef(Message):
    """A function: its signature and its nodes."""

    class ArgAttrs(Message):
        """The attributes of one argument."""

        attr = MessageMapField(1, STRING, AttrValue)

    signature = Nested(1, OpDef)
    attr = MessageMapField(5, STRING, AttrValue)
    arg_attr = MessageMapField(7, UINT32, ArgAttrs)
    resource_arg_unique_id = ValueMapField(8, UINT32, UINT32)
    node_def = RepeatedNested(3, NodeDef)
    ret = ValueMapField(4, STRING, STRING)
    control_ret = ValueMapField(6, STRING, STRING)


class GradientDef(Message):
    """Which function is the gradient of which."""

    function_name = Scalar(1, STRING)
    gradient_func = Scalar(2, STRING)


class FunctionDefLibrary(Message):
    """The functions of a graph."""

    function = RepeatedNested(1, FunctionDef)
    gradient = RepeatedNested(2, GradientDef)
