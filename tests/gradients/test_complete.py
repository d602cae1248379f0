"""Every op that takes numbers with fractions and gives such numbers has a gradient, or stands here with the reason."""

from __future__ import annotations

import contextlib

import pytest

import situs._src.autodiff
import situs._src.data
import situs._src.ops  # noqa: F401 - these declare the ops and their gradients
from situs._src.base.dtype import COMPLEX, FLOATING, DType
from situs._src.ir.registry.op import all_ops, find_op
from situs._src.ir.registry.signature import ANY
from situs.errors import NotFoundError

with contextlib.suppress(NotFoundError):
    find_op("AnyOther")  # which all modules are searched for

# Ops whose results pass nothing back, where TensorFlow has None: they have a rule that says so.
STEPS = """
Ceil CountNonzero Floor FloorDiv OnesLike PyFunc PyFuncStateless RandomShuffle Rint Round StatelessRandomPoisson
StatelessRandomBinomial StopGradient TruncateDiv ZerosLike
"""

NONE_IN_TENSORFLOW = "TensorFlow has none, and says so as we do"
SECOND_ORDER = "a gradient op; TensorFlow has no gradient of it either"
WITHOUT = {
    "Bitcast": NONE_IN_TENSORFLOW,
    "DenseBincount": NONE_IN_TENSORFLOW,
    "FakeQuantWithMinMaxArgsGradient": SECOND_ORDER,
    "FakeQuantWithMinMaxVarsGradient": SECOND_ORDER,
    "FakeQuantWithMinMaxVarsPerChannelGradient": SECOND_ORDER,
    "ExtractGlimpseV2": NONE_IN_TENSORFLOW,
    "IgammaGradA": SECOND_ORDER,
    "LRNGrad": SECOND_ORDER,
    "DatasetCardinality": NONE_IN_TENSORFLOW,
    "DatasetToSingleElement": NONE_IN_TENSORFLOW,
    "GetElementAtIndex": NONE_IN_TENSORFLOW,
    "LookupTableFindV2": NONE_IN_TENSORFLOW,
    "TableFind": "values of a table are what they are",
    "ListDiff": NONE_IN_TENSORFLOW,
    "ReduceDataset": NONE_IN_TENSORFLOW,
    "MatrixLogarithm": NONE_IN_TENSORFLOW,
    "MatrixSolveLs": NONE_IN_TENSORFLOW,
    "RandomCrop": "does not say where it cut; a crop at a place that the program draws, by tf.slice, has one",
    "RandomGammaGrad": SECOND_ORDER,
    "RandomPoissonV2": NONE_IN_TENSORFLOW,
    "ScatterMax": NONE_IN_TENSORFLOW,
    "ScatterMin": NONE_IN_TENSORFLOW,
    "ScatterNdMax": NONE_IN_TENSORFLOW,
    "ScatterNdMin": NONE_IN_TENSORFLOW,
    "ScatterUpdate": NONE_IN_TENSORFLOW,
    "TruncateMod": NONE_IN_TENSORFLOW,
    "Unique": NONE_IN_TENSORFLOW,
    "UniqueWithCounts": NONE_IN_TENSORFLOW,
    "UniqueV2": NONE_IN_TENSORFLOW,
    "UniqueWithCountsV2": NONE_IN_TENSORFLOW,
}


def has_slopes(op, args):
    return any(may_be_smooth(op, arg) for arg in args if not arg.is_host)


def may_be_smooth(op, arg):
    if isinstance(arg.type, DType):
        return arg.type in FLOATING | COMPLEX
    return arg.type == ANY or bool(op.types[arg.type] & (FLOATING | COMPLEX))


def ours():
    """The ops that the package declares; tests declare some of their own."""
    return {name: op for name, op in all_ops().items() if not name.startswith("Test")}


SMOOTH = [name for name, op in ours().items() if has_slopes(op, op.inputs) and has_slopes(op, op.outputs)]


def test_there_are_many_such_ops():
    assert len(SMOOTH) > 200


@pytest.mark.parametrize("name", SMOOTH)
def test_an_op_of_numbers_has_a_gradient(name):
    rule = find_op(name).gradient_rule
    if name in WITHOUT:
        assert rule is None, f"{name} has a rule now: take it off the list"
    else:
        assert rule is not None, f"{name} has no gradient rule; see situs/_src/ir/registry/gradient.py, or say here why"


@pytest.mark.parametrize("name", STEPS.split())
def test_an_op_whose_results_are_steps_passes_nothing_back(name):
    rule = find_op(name).gradient_rule
    assert rule is not None
    assert rule.needs == ()
    assert set(rule([None] * len(find_op(name).outputs), (), {})) == {None}


@pytest.mark.parametrize("name", WITHOUT)
def test_the_list_names_ops(name):
    assert name in SMOOTH
