"""Device scopes: how requests merge, in eager code and in the graph's way, per thread."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from situs._src.base.devices import scope as scopes
from situs._src.base.devices.logical import LogicalDevice
from situs._src.base.devices.scope import device, here
from situs._src.base.devices.spec import DeviceSpec, MutableDeviceSpec

LOCAL = "/job:localhost/replica:0/task:0"


def an_op(kind="MatMul"):
    return SimpleNamespace(type=kind, name=kind, device="")


def eager(kind="MatMul"):
    request = here.scope.eager_request(an_op(kind))
    return None if request is None else request.to_string()


def merged():
    return here.scope.merged(an_op()).to_string()


def test_outside_all_scopes_nothing_is_asked_for():
    assert eager() is None


@pytest.mark.parametrize(
    ("scopes", "graph", "in_eager"),
    [
        (["/cpu:2", "/job:w"], "/job:w/device:CPU:2", "/job:w/replica:0/task:0/device:CPU:2"),
        (["/cpu:2", None], "", None),
        (["/cpu:2", None, "/job:w"], "/job:w", "/job:w/replica:0/task:0/device:CPU:0"),
        (["/cpu:2", ""], "/device:CPU:2", f"{LOCAL}/device:CPU:2"),
        (["/cpu:2", "/gpu"], "/device:GPU:2", f"{LOCAL}/device:GPU:2"),
        ([None, "/cpu:1"], "/device:CPU:1", f"{LOCAL}/device:CPU:1"),
        (["/gpu"], "/device:GPU:*", f"{LOCAL}/device:GPU:0"),
        ([""], "", f"{LOCAL}/device:CPU:0"),
        (["/task:3"], "/task:3", "/job:localhost/replica:0/task:3/device:CPU:0"),
        (
            [lambda op: "/cpu:1", "/cpu:2"],
            "/device:CPU:1",
            f"{LOCAL}/device:CPU:1",
        ),  # the outer function wins
        (["/cpu:2", lambda op: "/job:x"], "/job:x/device:CPU:2", "/job:x/replica:0/task:0/device:CPU:2"),
        ([lambda op: ""], "", None),
        (["/gpu:1", lambda op: ""], "/device:GPU:1", f"{LOCAL}/device:GPU:1"),
        ([lambda op: DeviceSpec.from_string("/gpu:3")], "/device:GPU:3", f"{LOCAL}/device:GPU:3"),
    ],
)
def test_nested_scopes_merge(scopes, graph, in_eager):
    entered = [device(scope) for scope in scopes]
    for scope in entered:
        scope.__enter__()
    try:
        assert merged() == graph
        assert eager() == in_eager
    finally:
        for scope in reversed(entered):
            scope.__exit__(None, None, None)


def test_a_function_sees_the_op_and_the_inner_request():
    seen = []

    def choose(op):
        seen.append((op.type, op.device))
        return "/cpu:0" if op.type == "Variable" else "/gpu:0"

    with device(choose):
        assert eager("Variable") == f"{LOCAL}/device:CPU:0"
        with device("/gpu:3"):
            assert eager("MatMul") == f"{LOCAL}/device:GPU:0"
    assert seen == [("Variable", ""), ("MatMul", "/device:GPU:3")]


def test_a_function_that_returns_none_is_told_so():
    with device(lambda op: None), pytest.raises(TypeError, match="returned None for op MatMul"):
        eager()


def test_what_a_function_raises_comes_through():
    def fail(op):
        raise ZeroDivisionError

    with device(fail), pytest.raises(ZeroDivisionError):
        eager()


def test_a_function_that_returns_garbage_is_a_value_error():
    with device(lambda op: "bogus"), pytest.raises(ValueError, match="Unknown attribute 'bogus'"):
        eager()


@pytest.mark.parametrize(
    "name",
    [DeviceSpec.from_string("/gpu:1"), MutableDeviceSpec.from_string("/gpu:1"), LogicalDevice("/device:GPU:1", "GPU")],
)
def test_specs_and_logical_devices_are_names_too(name):
    with device(name):
        assert eager() == f"{LOCAL}/device:GPU:1"


@pytest.mark.parametrize("name", [3, 1.5, ["/cpu:0"], object()])
def test_other_values_are_refused(name):
    with pytest.raises(ValueError, match="Expecting a string device name"):
        device(name)


def test_scopes_are_per_thread():
    seen = []
    with device("/gpu:1"):
        thread = threading.Thread(target=lambda: seen.append(eager()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_leaving_out_of_order_is_an_error():
    outer, inner = device("/cpu:0"), device("/gpu:0")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="Exiting device scope without proper scope nesting"):
        outer.__exit__(None, None, None)
    assert eager() is None  # back outside the scope that was left
    with pytest.raises(RuntimeError, match="proper scope nesting"):
        inner.__exit__(None, None, None)
    assert eager() is None


def test_scopes_inside_functions_are_not_kept():
    before = len(scopes._all_scopes)
    for _ in range(20):
        with device(lambda op: ""), device("/gpu:1"), device("/task:0"):
            pass
    assert len(scopes._all_scopes) == before


def test_a_decision_made_before_the_rules_changed_is_not_kept():
    under = scopes.generation()
    scopes.remember(here.scope.memo, "key", "decision", under)
    assert here.scope.memo["key"] == "decision"
    scopes.forget()
    assert "key" not in here.scope.memo
    scopes.remember(here.scope.memo, "key", "decision", under)
    assert "key" not in here.scope.memo


def test_one_scope_object_may_be_entered_again_inside_itself():
    scope = device("/gpu:1")
    with scope, scope:
        assert eager() == f"{LOCAL}/device:GPU:1"
    with scope:
        assert eager() == f"{LOCAL}/device:GPU:1"
    assert eager() is None


def test_a_scope_is_left_when_its_body_raises():
    with pytest.raises(KeyError), device("/gpu:1"):
        raise KeyError
    assert eager() is None


def test_entering_the_same_scope_again_finds_its_memo():
    with device("/gpu:1"):
        first = here.scope
    with device("/device:GPU:1"):
        assert here.scope is first


def test_threads_have_a_memo_in_common_while_none_is_in_a_scope():
    with device("/gpu:1"):
        assert scopes.common.memo is None
        assert scopes.common.rules is None
    before = scopes.common._apart
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with device("/gpu:1"):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    assert scopes.common._apart == before + 1
    assert scopes.common.memo is None
    assert here.memo is scopes.ROOT.memo
    leave.set()
    thread.join()
    assert scopes.common._apart == before


def test_nested_scopes_and_those_that_lead_out_count_a_thread_once():
    before = scopes.common._apart
    with device("/gpu:1"), device("/gpu:2"):
        assert scopes.common._apart == before + 1
        with device(None):
            assert scopes.common._apart == before
        assert scopes.common._apart == before + 1
    assert scopes.common._apart == before


def test_steps_found_before_the_rules_changed_are_not_trusted_after():
    before = scopes.common.rules
    scopes.forget()
    assert scopes.common.rules is None or scopes.common.rules is not before
