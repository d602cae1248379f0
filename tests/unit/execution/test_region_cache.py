"""What was compiled, on disk: found again by what it is, shared by processes, and safe to damage."""

from __future__ import annotations

import hashlib
import os
import pickle

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.runtime.passes.regions import Layout
from situs._src.runtime.plan.plan import Slot
from situs._src.runtime.run import compiled, compiled_region, inductor, region_cache
from situs._src.runtime.run.region_body import Body, Step
from situs._src.runtime.run.region_cache import Outcome, keep, kept, key_of

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "kept"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("SITUS_COMPILE_CACHE", str(path))
    return path


def body(function=torch.tanh, size=3, kept_ones=(1,)):
    layout = Layout(torch.Size([size]), (1,), torch.float32, torch.device("cpu"))
    step = Step(function, [Slot(0)], [1], [layout], True, [], False, None, False, False)
    return Body([layout], [step], [], [], list(kept_ones), frozenset(), True)


def test_what_is_kept_is_found(folder):
    outcome = Outcome(kernels=b"code", refuses=True)
    key = key_of(body(), exact=True)
    assert kept(key) is None
    keep(key, outcome)
    assert kept(key) == outcome
    assert [file.name for file in folder.iterdir()] == [key]


def test_what_cannot_be_traced_is_kept_and_failures_are_not(folder):
    keep("a", Outcome(refused={1: "looks at values"}))
    keep("b", Outcome(failure="no memory"))
    keep("c", Outcome())
    assert kept("a") == Outcome(refused={1: "looks at values"})
    assert kept("b") is None
    assert kept("c") is None


def test_another_region_precision_setting_or_version_has_another_key(folder, monkeypatch):
    keys = [key_of(body(), True), key_of(body(), False), key_of(body(torch.exp), True), key_of(body(size=4), True)]
    keys.append(key_of(body(kept_ones=()), True))
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    keys.append(key_of(body(), True))
    monkeypatch.delenv("TORCHINDUCTOR_MAX_AUTOTUNE")
    monkeypatch.setattr(torch, "__version__", "another")
    keys.append(key_of(body(), True))
    monkeypatch.undo()
    assert len(set(keys)) == len(keys)
    assert None not in keys


def test_a_damaged_file_is_taken_for_none(folder):
    outcome = Outcome(kernels=bytes(range(256)) * 4)
    keep("key", outcome)
    whole = (folder / "key").read_bytes()
    for place in (0, 31, 32, len(whole) // 2, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 0x40
        (folder / "key").write_bytes(damaged)
        assert kept("key") is None
        assert not (folder / "key").exists()
    for length in (0, 10, 32, len(whole) - 1):
        (folder / "key").write_bytes(whole[:length])
        assert kept("key") is None
    for other in (b"", b"no pickle", pickle.dumps("something else")):
        (folder / "key").write_bytes(hashlib.sha256(other).digest() + other)
        assert kept("key") is None
    keep("key", outcome)
    assert kept("key") == outcome


def test_a_folder_that_others_may_write_to_is_not_used(folder):
    keep("key", Outcome(kernels=b"code"))
    folder.chmod(0o777)
    assert kept("key") is None
    assert key_of(body(), True) is None


def test_nothing_is_kept_where_the_environment_says_so(monkeypatch):
    monkeypatch.setenv("SITUS_COMPILE_CACHE", "0")
    assert key_of(body(), True) is None


def test_the_oldest_files_go(folder, monkeypatch):
    monkeypatch.setattr(region_cache, "MOST", 3)
    for number in range(5):
        keep(str(number), Outcome(kernels=b"code"))
        os.utime(folder / str(number), (number + 1, number + 1))
    keep("last", Outcome(kernels=b"code"))
    assert sorted(file.name for file in folder.iterdir()) == ["3", "4", "last"]


def normalized():
    v = tf.Variable(X.T @ X)

    @tf.function(jit_compile=True)
    def step(x):
        v.assign_sub(0.1 * tf.tanh(v))
        return tf.reduce_sum(tf.exp(x @ v) + 1.0)

    return step


@pytest.mark.skipif(inductor.missing(on_card=False) is not None, reason="needs a C++ compiler")
def test_a_kept_region_is_neither_traced_nor_compiled_again(folder, fast, monkeypatch, caplog):
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    with tf.device("/cpu:0"):
        first = normalized()
        expected = [float(first(X)) for _ in range(5)]
        assert len(list(folder.iterdir())) == 1

        def never(*args, **kwargs):
            raise AssertionError("It is kept.")

        with monkeypatch.context() as patch:
            patch.setattr(compiled, "trace_body", never)
            patch.setattr(inductor, "compiled", never)
            again = normalized()
            assert [float(again(X)) for _ in range(5)] == pytest.approx(expected, rel=1e-6)
        assert any(each.runs_as.startswith("compiled region 1") for each in tf.explain(again))
        (file,) = folder.iterdir()
        file.write_bytes(file.read_bytes()[:-1] + b"?")
        third = normalized()
        assert [float(third(X)) for _ in range(5)] == pytest.approx(expected, rel=1e-6)
    assert any(each.runs_as.startswith("compiled region 1") for each in tf.explain(third))
    assert "run as they are" not in caplog.text
