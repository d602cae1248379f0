"""What commands print for programs and shells: JSON, completion, colours, exit statuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from situs._src.cli import completion
from situs._src.cli.main import _parser, main
from situs.placement import Device, Node, Problem

PROGRAM = "import situs as tf\nwith tf.device('/gpu:0'):\n  print(float(tf.reduce_sum(tf.ones([64, 64]))))\n"
PROBLEM = Problem(devices=(Device("GPU:0", "GPU"),), nodes=(Node("x", (1.0,)),), tensors=(), links=())


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize(("command", "keys"), [("memory", {"devices"}), ("profile", {"runs", "costs", "links"})])
def test_json_is_all_there_is_on_standard_output(program, capsys, command, keys):
    assert main([command, "--json", program]) == 0
    printed = capsys.readouterr()
    assert keys <= json.loads(printed.out).keys()
    assert printed.err.endswith("4096.0\n")


@pytest.mark.parametrize(
    "lines",
    [
        "import tensorflow as tf",
        "from model import tf",
        "import tensorflow.compat.v1 as tf\ntf.enable_eager_execution()",
    ],
)
def test_a_tensorflow_program_is_recorded_as_it_is(tmp_path, lines):
    (tmp_path / "model.py").write_text("import tensorflow as tf\n")
    path = tmp_path / "program.py"
    path.write_text(f"{lines}\nwith tf.device('/gpu:0'):\n  kept = tf.ones([64, 64]) + 1.0\n")
    command = [sys.executable, "-m", "situs", "memory", "--json", str(path)]
    environment = {**os.environ, "SITUS_VIRTUAL_GPUS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["devices"]) == 1


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("run", "--report", "out.json"),
        ("run", "--missing", "out.json"),
        ("memory", "-o", "out.json"),
        ("profile", "-o", "out.json"),
    ],
)
def test_what_is_written_stays_where_the_command_was_given(tmp_path, monkeypatch, command, option, name):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "program.py").write_text("import os\nos.chdir('elsewhere')\nimport tensorflow as tf\ntf.lacking\n")
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "situs", command, option, name, "program.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "SITUS_VIRTUAL_GPUS": "1"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    found = json.loads((tmp_path / name).read_text())
    assert list((tmp_path / "elsewhere").iterdir()) == []
    if option == "--missing":
        assert found["uses"] == [{"name": "tf.lacking", "line": 4}]


@pytest.mark.parametrize(("command", "option"), [("run", "--missing"), ("profile", "-o"), ("memory", "-o")])
def test_a_file_that_cannot_be_written_is_said_before_the_program_runs(tmp_path, program, capsys, command, option):
    folder = tmp_path / "folder.json"
    folder.mkdir()
    for path, message in [(folder, "it is a folder"), (tmp_path / "none" / "out.json", "there is no folder")]:
        assert main([command, option, str(path), program]) == 1
        said = capsys.readouterr()
        assert message in said.err
        assert "4096" not in said.out


@pytest.mark.parametrize("command", [["memory"], ["memory", "--json"], ["profile"], ["profile", "--json"]])
def test_a_program_may_close_what_it_prints_to(tmp_path, command):
    path = tmp_path / "program.py"
    path.write_text("import sys\nsys.stdout.close()\n")
    environment = {**os.environ, "SITUS_COSTS": str(tmp_path / "costs.json")}
    done = subprocess.run(
        [sys.executable, "-m", "situs", *command, str(path)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_plan_as_json_is_the_plan_that_is_written(tmp_path, capsys):
    graph, out = tmp_path / "graph.json", tmp_path / "plan.json"
    graph.write_text(json.dumps(PROBLEM.to_json()))
    assert main(["place", str(graph), "--json", "--budget", "0.1", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())


def test_every_command_that_prints_data_has_json():
    commands = {command.name: command for command in completion.described(_parser())}
    having = {name for name, each in commands.items() if any("--json" in option.names for option in each.options)}
    assert {"devices", "memory", "place", "profile"} <= having
    assert all(any("--no-color" in option.names for option in each.options) for each in commands.values())


@pytest.mark.parametrize(
    ("arguments", "env", "coloured"),
    [
        (["devices"], {}, True),
        (["devices"], {"NO_COLOR": ""}, True),
        (["devices"], {"NO_COLOR": "1"}, False),
        (["devices", "--no-color"], {}, False),
        (["--no-color", "devices"], {}, False),
    ],
)
def test_a_terminal_gets_colours_unless_they_are_turned_off(monkeypatch, capsys, arguments, env, coloured):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(arguments) == 0
    assert ("\x1b[" in capsys.readouterr().out) == coloured


def test_help_has_the_exit_statuses(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "exit status:" in capsys.readouterr().out


def test_an_interruption_has_its_status(monkeypatch):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("situs._src.cli.devices.run", interrupted)
    assert main(["devices"]) == 130


def complete(line: str, tmp_path) -> list[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    given = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {tmp_path / 'situs.bash'}\nCOMP_WORDS=({given})\nCOMP_CWORD={len(words) - 1}\n_situs\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash on this machine")
def test_bash_completes_commands_options_choices_and_files(tmp_path):
    (tmp_path / "situs.bash").write_text(completion.script(_parser(), "bash"))
    assert complete("situs dev", tmp_path) == ["devices"]
    assert complete("situs devices --js", tmp_path) == ["--json"]
    assert complete("situs run --dialect ", tmp_path) == ["v1", "v2"]
    assert complete("situs --no-color completion z", tmp_path) == ["zsh"]
    assert complete("situs memory sit", tmp_path) == ["situs.bash"]
    assert complete("situs --vers", tmp_path) == ["--version"]


def test_fish_and_zsh_scripts_have_every_command_and_option(capsys):
    for shell in ("fish", "zsh"):
        assert main(["completion", shell]) == 0
        text = capsys.readouterr().out
        for command in completion.described(_parser()):
            assert command.name in text
            for option in command.options:
                assert all(name.lstrip("-") in text for name in option.names)


def test_an_unknown_shell_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])
    assert ended.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    if os.name == "nt":
        pytest.skip("pipes end otherwise on Windows")
    command = f"{sys.executable} -m situs completion bash | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "--dialect", "v1"], ["launch", "-n", "2"], ["launch", "-n", "0", "a.py"]]
)
def test_a_command_without_a_program_is_a_usage_error(capsys, arguments):
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("situs: ")
