"""The command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import situs
from situs._src.cli.main import main


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"situs {situs.__version__}\n"


def test_devices_as_a_table(capsys):
    assert main(["devices"]) == 0
    out = capsys.readouterr().out
    assert "/device:CPU:0" in out
    assert "/device:GPU:3" in out
    assert "2.0 GiB" in out


def test_devices_as_json(capsys):
    assert main(["devices", "--json"]) == 0
    cpu, gpu, *_ = json.loads(capsys.readouterr().out)
    assert cpu["name"] == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert cpu["cores"] >= 1
    assert gpu["virtual"] is True
    assert gpu["memory_bytes"] == 2 * 2**30


def test_devices_loads_no_kernel_library(run_python):
    program = "from situs._src.cli.main import main; import sys; main(['devices']); print('torch' in sys.modules)"
    assert run_python(program).endswith("False\n")


@pytest.mark.parametrize("env", [{}, {"CUDA_VISIBLE_DEVICES": "-1"}, {"CUDA_VISIBLE_DEVICES": "0"}])
def test_demo_shows_devices_log_results_and_reasons(run_python, env):
    out = run_python("from situs._src.cli.main import main; main(['demo'])", **env)
    assert "4 virtual ones stand in" in out
    assert "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:3" in out
    assert "[ 98. 128.]], shape=(2, 2), dtype=float32)" in out
    assert "requested: /device:CPU:0" in out


def test_demo_splits_what_gpus_there_are(run_python):
    out = run_python("from situs._src.cli.main import main; main(['demo'])", SITUS_VIRTUAL_GPUS="2")
    assert "the first is split to make 4 logical ones" in out
    assert "device:GPU:3" in out


def test_bad_settings_are_one_line_and_a_status(run_python):
    program = "import sys; from situs._src.cli.main import main; sys.exit(main(['devices']))"
    out = run_python(program, fails=True, SITUS_VIRTUAL_GPUS="lots")
    assert out == "situs: Cannot read SITUS_VIRTUAL_GPUS='lots'. Write a count such as 4, or 4x2GiB.\n"


def test_python_dash_m(tmp_path):
    done = subprocess.run([sys.executable, "-m", "situs"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "devices" in done.stderr
