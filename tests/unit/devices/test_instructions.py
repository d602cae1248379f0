"""What is decided for CPUs that advertise AMX, with stand-ins for the CPU and for the probe."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import pytest

from situs._src.base.devices import instructions
from situs._src.base.devices.instructions import (
    LIMITS,
    NO_LIMIT,
    VARIABLE,
    WITHOUT_AMX,
    Verdict,
    steer,
    survives,
    verdict,
)
from situs._src.cli import devices as command

AMX = {"vendor_id": "GenuineIntel", "model name": "Xeon", "flags": "fpu avx512_bf16 amx_bf16 amx_tile"}
PLAIN = {"vendor_id": "GenuineIntel", "model name": "Xeon", "flags": "fpu avx512_bf16"}


class Machine:
    """Stands in for the child process: which limits are survived, and which were tried."""

    def __init__(self, *survived: str, unknown: bool = False) -> None:
        self.survived, self.unknown = survived, unknown
        self.tried: list[str] = []

    def __call__(self, limit: str) -> bool | None:
        self.tried.append(limit)
        return None if self.unknown else limit in self.survived


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an environment that chooses nothing."""
    monkeypatch.delenv("DNNL_MAX_CPU_ISA", raising=False)
    monkeypatch.setenv(VARIABLE, "")  # so that what a test sets is undone
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(instructions.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    return tmp_path / "cache" / "situs"


def the_file(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def test_a_cpu_without_amx_is_not_probed_and_nothing_is_kept(cache):
    machine = Machine()
    assert verdict(machine, PLAIN) == verdict(machine, {}) == Verdict(NO_LIMIT, "cpu")
    assert machine.tried == []
    assert not cache.exists()


def test_amx_that_works_is_used_and_probed_once(cache):
    machine = Machine(*LIMITS)
    assert steer(probe=machine, facts=AMX) == Verdict(NO_LIMIT, "probe")
    assert steer(probe=machine, facts=AMX) == Verdict(NO_LIMIT, "cache")
    assert machine.tried == [NO_LIMIT]
    assert VARIABLE not in os.environ
    assert verdict(machine, AMX).text == ""


def test_amx_that_traps_is_kept_away_from(cache):
    machine = Machine(*LIMITS[1:])
    assert steer(probe=machine, facts=AMX) == Verdict(WITHOUT_AMX, "probe")
    assert os.environ[VARIABLE] == WITHOUT_AMX
    assert machine.tried == [NO_LIMIT, WITHOUT_AMX]
    del os.environ[VARIABLE]
    assert steer(probe=machine, facts=AMX) == Verdict(WITHOUT_AMX, "cache")
    assert os.environ[VARIABLE] == WITHOUT_AMX
    assert machine.tried == [NO_LIMIT, WITHOUT_AMX]
    assert "held to AVX512_CORE_BF16" in Verdict(WITHOUT_AMX, "cache").text


def test_older_instructions_are_tried_until_some_are_survived(cache):
    machine = Machine("AVX2")
    assert verdict(machine, AMX) == Verdict("AVX2", "probe")
    assert machine.tried == list(LIMITS)


@pytest.mark.parametrize("machine", [Machine(unknown=True), Machine()])
def test_a_probe_that_says_nothing_keeps_away_from_amx_for_now(cache, machine):
    assert steer(probe=machine, facts=AMX) == Verdict(WITHOUT_AMX, "unknown")
    assert os.environ.pop(VARIABLE) == WITHOUT_AMX
    assert not cache.exists()
    assert verdict(Machine(*LIMITS), AMX) == Verdict(NO_LIMIT, "probe")


@pytest.mark.parametrize("name", [VARIABLE, "DNNL_MAX_CPU_ISA"])
def test_the_users_variable_counts(cache, monkeypatch, name):
    monkeypatch.setenv(name, "AVX2")
    before, machine = dict(os.environ), Machine()
    found = steer(was_loaded=True, probe=machine, facts=AMX)
    assert found == Verdict("AVX2", "user")
    assert found.text == "oneDNN is held to AVX2 by the environment"
    assert machine.tried == []
    assert dict(os.environ) == before


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\x00", b"[]", b"null", b'{"limit": "DEFAULT"}'])
def test_a_cache_that_cannot_be_read_is_not_there(cache, content):
    verdict(Machine(*LIMITS[1:]), AMX)
    the_file(cache).write_bytes(content)
    assert verdict(Machine(*LIMITS[1:]), AMX) == Verdict(WITHOUT_AMX, "probe")
    assert verdict(Machine(), AMX) == Verdict(WITHOUT_AMX, "cache")


def test_a_limit_that_nobody_knows_is_not_taken_from_the_cache(cache):
    verdict(Machine(*LIMITS), AMX)
    path = the_file(cache)
    path.write_text(json.dumps({**json.loads(path.read_text()), "limit": "AVX9000"}))
    assert verdict(Machine(*LIMITS), AMX).found == "probe"


def test_another_cpu_and_another_torch_are_probed_for_themselves(cache, monkeypatch):
    verdict(Machine(*LIMITS), AMX)
    assert verdict(Machine(*LIMITS[1:]), {**AMX, "stepping": "8"}) == Verdict(WITHOUT_AMX, "probe")
    monkeypatch.setattr(instructions, "torch_version", lambda: "9.9")
    assert verdict(Machine(*LIMITS[1:]), AMX) == Verdict(WITHOUT_AMX, "probe")
    assert len(list(cache.iterdir())) == 3


def test_a_cache_that_cannot_be_written_is_replaced_by_a_temporary_one(cache, tmp_path):
    cache.parent.write_text("a file where the folder should be")
    machine = Machine(*LIMITS)
    assert verdict(machine, AMX) == Verdict(NO_LIMIT, "probe")
    assert verdict(machine, AMX) == Verdict(NO_LIMIT, "cache")
    assert the_file(next((tmp_path / "temporary").iterdir())).name.startswith("onednn-")


def test_without_any_folder_every_process_probes(cache, tmp_path):
    cache.parent.write_text("")
    (tmp_path / "temporary").write_text("")
    assert [verdict(Machine(*LIMITS), AMX).found for _ in range(2)] == ["probe", "probe"]


def test_a_write_that_fails_leaves_no_draft(cache, monkeypatch, tmp_path):
    def fail(*paths: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    assert verdict(Machine(*LIMITS), AMX).found == "probe"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_program_that_loaded_torch_first_is_warned(cache):
    with pytest.warns(RuntimeWarning, match=f"imported before Situs.*{VARIABLE}=AVX512_CORE_BF16"):
        steer(was_loaded=True, probe=Machine(*LIMITS[1:]), facts=AMX)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steer(was_loaded=True, probe=Machine(), facts=PLAIN)


# The probe itself.


def test_products_of_bfloat16_are_survived_without_amx():
    assert survives("AVX2") is True


@pytest.mark.parametrize(
    ("program", "survived"),
    [
        ("import os, signal; print('ready', flush=True); os.kill(os.getpid(), signal.SIGILL)", False),
        ("print('ready', flush=True); raise RuntimeError('could not create a primitive')", False),
        ("import os, signal; print('ready', flush=True); os.kill(os.getpid(), signal.SIGKILL)", None),
        ("import no_such_module", None),
        ("print('ready'); print('survived')", True),
        ("import os; print('ready'); print('survived' if os.environ['ONEDNN_MAX_CPU_ISA'] == 'AVX2' else 'no')", True),
    ],
)
def test_what_becomes_of_the_child_is_the_answer(program, survived):
    assert survives("AVX2", program) is survived


def test_a_child_that_does_not_end_says_nothing():
    assert survives("AVX2", "import time; print('ready', flush=True); time.sleep(3600)", patience=0.01) is None


def test_a_program_that_is_its_own_executable_is_not_started_again(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert survives("AVX2", "print('ready'); print('survived')") is None


def test_the_command_says_it_when_there_is_something_to_say(monkeypatch, capsys):
    monkeypatch.setattr(instructions, "processor_facts", lambda: PLAIN)
    command.run(command.argparse.Namespace(json=True))
    assert "onednn_limit" not in json.loads(capsys.readouterr().out)[0]
    monkeypatch.setattr(instructions, "processor_facts", lambda: AMX)
    monkeypatch.setattr(instructions, "survives", Machine(*LIMITS[1:]))
    command.run(command.argparse.Namespace(json=True))
    cpu = json.loads(capsys.readouterr().out)[0]
    assert cpu["onednn_limit"] == WITHOUT_AMX
    assert cpu["note"] == "AMX is advertised and does not work: oneDNN is held to AVX512_CORE_BF16"
    command.run(command.argparse.Namespace(json=False))
    assert "AMX is advertised" in " ".join(capsys.readouterr().out.split())
