"""The search's inner loops in C: the same as in Python, and built only where that works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from situs._src.placement.search import compiled, pure
from situs._src.placement.search.flat import flatten
from situs._src.placement.search.orders import orders_of
from situs._src.placement.search.problem import OBJECTIVES
from situs._src.placement.search.reduce import blocks_of
from situs._src.placement.search.schedule import Schedule
from situs._src.placement.search.search import search
from tests.placement_graphs import layered, random_problem

needs_compiler = pytest.mark.skipif(compiled._compiler() is None, reason="there is no C compiler")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with nothing in it, and nothing loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "temporary"))
    monkeypatch.setattr(compiled, "_loaded", {})
    return tmp_path / "cache" / "situs"


def arrays(problem):
    blocks = blocks_of(problem)
    return flatten(problem, blocks, list(orders_of(problem, blocks).values()))


@needs_compiler
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(12))
def test_annealing_is_the_same_in_both(objective, seed):
    flat = arrays(random_problem(seed, most=30, devices=4))
    rows = zip(flat.candidate_start[:-1], flat.candidate_start[1:], strict=True)
    if any(first == last for first, last in rows):
        pytest.skip("a group has no common device")
    start = np.array([flat.candidate[i] for i in flat.candidate_start[:-1]], np.int32)
    one, other, stop = start.copy(), start.copy(), np.zeros(1, np.int32)
    schedule = Schedule(objective, moves=400, seed=seed, warm=0.1)
    found = compiled.library().anneal(flat, schedule, one, stop)
    assert found == pure.anneal(flat, schedule, other, stop)
    assert one.tolist() == other.tolist()
    assert compiled.library().evaluate(flat, objective, one) == pure.evaluate(flat, objective, other)


@needs_compiler
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_whole_search_is_the_same_in_both(objective, monkeypatch):
    problem = layered(60, gpus=2, memory=2e7)
    fast = search(problem, objective, seed=3, moves=1500)
    monkeypatch.setenv("SITUS_COMPILED_SEARCH", "0")
    assert compiled.library() is None
    slow = search(problem, objective, seed=3, moves=1500)
    assert slow.placement == fast.placement
    assert slow.forecast == fast.forecast


@needs_compiler
def test_a_run_that_is_stopped_tries_nothing():
    flat = arrays(layered(40))
    place, stop = np.zeros(flat.blocks, np.int32), np.ones(1, np.int32)
    assert compiled.library().anneal(flat, Schedule("step", 1000, 0), place, stop).tried == 0
    assert pure.anneal(flat, Schedule("step", 1000, 0), place, stop).tried == 0


@needs_compiler
def test_it_is_built_once_and_found_again(cache, monkeypatch):
    assert compiled.library() is not None
    (built,) = cache.glob("placement-*.so")
    monkeypatch.setattr(compiled, "_loaded", {})
    monkeypatch.setattr(compiled, "_build", lambda key: pytest.fail("it was built again"))
    assert compiled.library() is not None
    assert [*cache.iterdir()] == [built]


@needs_compiler
@pytest.mark.parametrize("damage", ["cut short", "changed", "of another user's making"])
def test_a_damaged_file_is_never_loaded(cache, monkeypatch, damage):
    compiled.library()
    (built,) = cache.glob("placement-*.so")
    if damage == "cut short":
        whole = built.read_bytes()
        built.unlink()  # it is mapped into this process
        built.write_bytes(whole[:1000])
        built.chmod(0o700)
    elif damage == "changed":
        whole = built.read_bytes()
        built.unlink()
        built.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        built.chmod(0o700)
    else:
        built.chmod(0o777)
    assert compiled._find(compiled._key()) is None
    monkeypatch.setattr(compiled, "_loaded", {})
    assert compiled.library() is not None


def test_without_a_compiler_python_does_it(cache, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert compiled.library() is None
    plan = search(layered(30, gpus=2), moves=50)
    assert len(plan.placement) == 30


@needs_compiler
def test_a_compiler_that_fails_leaves_nothing(cache, monkeypatch, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(compiled, "_compiler", lambda: str(broken))
    assert compiled.library() is None
    assert [*cache.iterdir()] == []


@needs_compiler
def test_a_cache_that_cannot_be_written_is_done_without(cache, monkeypatch, tmp_path):
    cache.parent.write_text("a file where the folder should be")
    assert compiled.library() is not None
    assert len([*tmp_path.glob("temporary/situs-*/placement-*.so")]) == 1


@needs_compiler
def test_without_any_folder_python_does_it(cache, tmp_path):
    cache.parent.write_text("a file")
    (tmp_path / "temporary").write_text("a file")
    assert compiled.library() is None


@needs_compiler
def test_two_processes_may_build_at_once(tmp_path):
    program = "from situs._src.placement.search import compiled; assert compiled.library() is not None"
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[4])}
    both = [subprocess.Popen([sys.executable, "-c", program], env=env) for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    assert not [*tmp_path.glob("situs/*.draft")]
