"""Programs of two replicas give what TensorFlow gives, which is recorded; they run in one process of their own."""

from __future__ import annotations

import json

from tests.conftest import RunPython
from tests.unit.distribute.replica_programs import FILE, PROGRAMS

RECORDED = json.loads(FILE.read_text())

RUN_ALL = """
import json
import situs as tf
from tests.unit.distribute.replica_programs import PROGRAMS, strategy_of

strategy = strategy_of(tf)
found = {}
for name, run in PROGRAMS.items():
    try:
        found[name] = run(tf, strategy)
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"
print("found", json.dumps(found))
"""


def test_all_programs_are_recorded() -> None:
    assert set(RECORDED) == set(PROGRAMS)


def test_programs_of_replicas(run_python: RunPython) -> None:
    printed = run_python(RUN_ALL, SITUS_VIRTUAL_GPUS="0").splitlines()
    found = json.loads(next(line for line in printed if line.startswith("found ")).removeprefix("found "))
    different = {name: (found[name], wanted) for name, wanted in RECORDED.items() if found[name] != wanted}
    assert not different
