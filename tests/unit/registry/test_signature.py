"""Signatures of ops: what the notation means."""

from __future__ import annotations

import pytest

from situs._src.base.dtype import bool as bool_dtype
from situs._src.base.dtype import int32
from situs._src.ir.registry.signature import HOST, Arg, parse_signature


def test_inputs_outputs_and_type_variables():
    signature = parse_signature("a: T, b: T -> product: T")
    assert signature.inputs == (Arg("a", "T"), Arg("b", "T"))
    assert signature.outputs == (Arg("product", "T"),)
    assert signature.variables == ("T",)


def test_a_lower_case_dtype_name_is_that_dtype():
    signature = parse_signature("condition: bool, x: T -> values: T, indices: int32")
    assert signature.inputs[0].type is bool_dtype
    assert signature.outputs[1].type is int32
    assert signature.variables == ("T",)


def test_host_inputs_lists_and_results_without_a_name():
    signature = parse_signature("values: T*, axis: host -> T")
    values, axis = signature.inputs
    assert values.is_list
    assert axis.is_host
    assert axis.type == HOST
    assert signature.outputs == (Arg("output", "T"),)


def test_a_variable_may_stand_only_in_the_result():
    assert parse_signature("x: SrcT -> DstT").variables == ("SrcT", "DstT")
    assert parse_signature("-> output: dtype").variables == ("dtype",)


def test_it_prints_as_it_is_written():
    text = "values: T*, axis: host -> output: T"
    assert str(parse_signature(text)) == text


@pytest.mark.parametrize("text", ["x: T", "x T -> T", "x: T y -> T", "1: T -> T", "x: -> T", "x: T, x: T -> T"])
def test_what_is_no_signature_is_refused(text):
    with pytest.raises(ValueError, match="signature"):
        parse_signature(text)
