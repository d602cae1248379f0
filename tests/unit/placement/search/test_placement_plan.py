"""Plans are saved, read, edited, pinned and compared; timelines are drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from situs._src.placement.search import picture
from situs._src.placement.search.conflict import InfeasibleError
from situs._src.placement.search.plan import compare, from_json, load, pinned, plan_of
from situs._src.placement.search.problem import OBJECTIVES, Node, Problem
from situs._src.placement.search.search import search
from situs._src.placement.search.simulate import simulate
from situs.errors import InvalidArgumentError, NotFoundError
from tests.placement_graphs import chain, layered, two_gpus


@pytest.fixture
def plan():
    return search(chain("1 1 1 1", memory=2.0), moves=500)


def test_a_plan_comes_back_from_its_file(plan, tmp_path):
    plan.save(tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == plan


def test_a_plan_says_what_it_rests_on(plan):
    problem = chain("1 1")
    basis = ("2 of 2 times were measured",)
    told = search(Problem(problem.nodes, problem.tensors, problem.devices, problem.links, basis), moves=10)
    assert told.rests_on == basis
    assert plan.gap == 1 - plan.bound / plan.forecast.value


def test_an_edited_plan_is_kept_to(plan):
    problem = chain("1 1 1 1", memory=2.0)
    edited = from_json({**plan.to_json(), "placement": {"a": "CPU:0", "b": "GPU:1"}})
    found = search(pinned(problem, edited.placement), moves=500)
    assert found.placement["a"] == "CPU:0"
    assert found.placement["b"] == "GPU:1"


def test_an_edited_plan_that_does_not_fit_is_refused():
    placement = dict.fromkeys("abc", "GPU:0")
    with pytest.raises(InfeasibleError, match="at most 2 bytes on GPU:0"):
        search(pinned(chain("1 1 1 1", memory=2.0), placement), moves=10)


@pytest.mark.parametrize("change", [{"allowed": (0, 2)}, {"times": (1.0, None, 10.0)}])
def test_an_edited_plan_does_not_overrule_the_graph(change):
    problem = chain("1 1")
    problem = replace(problem, nodes=(replace(problem.nodes[0], **change), problem.nodes[1]))
    with pytest.raises(InvalidArgumentError, match=r"'a' on GPU:1, and .* allow GPU:0, CPU:0"):
        pinned(problem, {"a": "GPU:1"})


@pytest.mark.parametrize(
    ("placement", "message"),
    [({"z": "GPU:0"}, "'z', which is not in the graph"), ({"a": "TPU:0"}, "on 'TPU:0'; there")],
)
def test_plans_of_another_graph_are_refused(placement, message):
    with pytest.raises(InvalidArgumentError, match=message):
        pinned(chain("1 1"), placement)


def test_any_placement_can_be_simulated_as_a_plan():
    plan = plan_of(chain("1 1", memory=1.5), {"a": "GPU:0", "b": "GPU:0", "elsewhere": "GPU:0"})
    assert plan.forecast.value == 2.0
    assert plan.placement == {"a": "GPU:0", "b": "GPU:0"}
    assert plan.notes == ("GPU:0 holds 2 bytes and has 1.5.",)


def test_plans_are_compared():
    problem = chain("1 1")
    one = plan_of(problem, {"a": "GPU:0", "b": "GPU:0"})
    other = plan_of(problem, {"a": "GPU:0", "b": "CPU:0"})
    found = compare(one, other)
    assert found.moved == (("b", "GPU:0", "CPU:0"),)
    assert str(found).splitlines() == ["2 -> 12 (+500.0%), 1 nodes are elsewhere", "  b: GPU:0 -> CPU:0"]
    with pytest.raises(InvalidArgumentError, match="cannot be compared"):
        compare(one, plan_of(problem, one.placement, "max_load"))


def test_nodes_that_one_plan_lacks_are_told():
    shorter = plan_of(chain("1"), {"a": "GPU:0"})
    longer = plan_of(chain("1 1"), dict.fromkeys("ab", "GPU:0"))
    assert compare(longer, shorter).only_before == ("b",)
    assert "1 nodes are in the second plan alone, such as 'b'" in str(compare(shorter, longer))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format is 'other'"),
        ({"objective": "joy"}, "must be one of"),
        ({"placement": []}, "placement must be a table"),
        ({"placement": {"a": 3}}, "a must be a text"),
        ({"forecast": {"value": "short"}}, "value must be a number"),
        ({"single": ["GPU:0"]}, "a device and a number"),
        ({"tried": {"x": -1}}, "number from 0"),
    ],
)
def test_files_that_are_no_plans_are_refused(plan, change, message):
    with pytest.raises(InvalidArgumentError, match=message):
        from_json({**plan.to_json(), **change})


def test_a_plan_that_is_not_there(tmp_path):
    with pytest.raises(NotFoundError, match="Cannot read the plan"):
        load(tmp_path / "none.json")


# Pictures.


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_a_picture_is_whole_and_escapes_names(tmp_path, objective, suffix):
    devices, links = two_gpus()
    hostile = '<script>alert("x")</script>&\x1b[31m\n\x00'
    problem = Problem((Node(hostile, (1.0, 1.0, 1.0)), Node("b", (1.0, 1.0, 1.0))), (), devices, links)
    found = simulate(problem, {hostile: "GPU:0", "b": "CPU:0"}, objective)
    path = tmp_path / f"picture.{suffix}"
    picture.save(found, path, f"of {hostile}")
    text = path.read_text()
    assert "<script" not in text
    assert text.count("<title>") == 2 + (suffix == "html")
    start = text.index("<svg")
    ElementTree.fromstring(text[start : text.index("</svg>") + 6])  # it is well-formed
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_thousands_of_nodes_make_a_picture_of_a_bearable_size(tmp_path):
    problem = layered(3000, gpus=1)
    found = simulate(problem, {node.name: "GPU:0" for node in problem.nodes})
    picture.save(found, tmp_path / "large.svg", "large")
    assert (tmp_path / "large.svg").stat().st_size < 600_000


def test_a_picture_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"ends in \.svg or \.html"):
        picture.check_name(tmp_path / "picture.png")


def test_plans_are_plain_json(plan):
    assert json.loads(json.dumps(plan.to_json())) == plan.to_json()
