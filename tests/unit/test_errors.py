"""The tree of errors: each also its builtin, each with TensorFlow's code."""

from __future__ import annotations

import copy
import pickle

import pytest

from situs import errors
from situs._src.base import errors as base_errors

BUILTINS = {
    "InvalidArgumentError": ValueError,
    "DTypeError": TypeError,
    "UnknownDeviceError": RuntimeError,
    "NotFoundError": LookupError,
    "ResourceExhaustedError": MemoryError,
    "FailedPreconditionError": RuntimeError,
    "OutOfRangeError": IndexError,
    "UnimplementedError": NotImplementedError,
    "DeadlineExceededError": TimeoutError,
    "PermissionDeniedError": PermissionError,
    "DataLossError": OSError,
    "UnavailableError": ConnectionError,
    "InternalError": RuntimeError,
    "OperatorNotAllowedInGraphError": TypeError,
}
CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.OpError)]


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_is_built_from_a_message_or_in_tensorflows_way(cls):
    assert str(cls("what happened")) == "what happened"
    error = cls(None, None, "what happened")
    assert (error.message, error.node_def, error.op) == ("what happened", None, None)


@pytest.mark.parametrize(("name", "builtin"), BUILTINS.items())
def test_an_error_is_caught_as_its_builtin(name, builtin):
    assert issubclass(getattr(errors, name), builtin)


@pytest.mark.parametrize("cls", CLASSES)
def test_errors_survive_pickle_and_copy(cls):
    error = cls("text")
    assert str(pickle.loads(pickle.dumps(error))) == "text"
    assert type(copy.copy(error)) is cls


def test_codes_are_tensorflows_numbers():
    assert errors.InvalidArgumentError("x").error_code == 3
    for code in range(1, 17):
        cls = errors.exception_type_from_error_code(code)
        assert errors.error_code_from_exception_type(cls) == code


def test_the_drawn_tree_names_every_class():
    drawn = base_errors.__doc__ or ""
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)]
    names = {cls: name for name, cls in vars(errors).items() if isinstance(cls, type)}
    assert all(issubclass(cls, errors.SitusError) and names[cls] in drawn for cls in classes)
