"""``situs run --report``, ``situs report``, ``situs place --report`` and the end of ``situs demo``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from situs._src.cli.main import main
from tests.placement_graphs import chain

PROGRAM = """
import tensorflow as tf
x = tf.ones([8, 8])
with tf.device("GPU:1"):
    y = tf.matmul(x, x)
{ending}
"""


@pytest.fixture
def program(tmp_path):
    def write(ending="pass"):
        path = tmp_path / "train.py"
        path.write_text(PROGRAM.format(ending=ending))
        return str(path)

    return write


def test_a_program_gets_its_report(program, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["run", "--report", str(out), program(), "--epochs", "1"]) == 0
    data = json.loads(out.read_text())
    assert data["title"] == "train.py"
    assert data["program"]["arguments"] == ["--epochs", "1"]
    assert data["program"]["error"] is None
    assert "MatMul" in data["strings"]
    assert out.resolve().as_uri() in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ending", "status", "error"),
    [
        ("raise KeyError('lost')", 1, "KeyError"),
        ("import sys; sys.exit(3)", 3, None),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
        ("tf.matmul(x, tf.ones([3, 3]))", 1, "InvalidArgumentError"),
    ],
)
def test_a_program_that_dies_gets_its_report_too(program, tmp_path, capsys, ending, status, error):
    out = tmp_path / "out.json"
    assert main(["run", "--report", str(out), program(ending)]) == status
    found = json.loads(out.read_text())["program"]["error"]
    assert (None if found is None else found["type"]) == error
    assert "MatMul" in out.read_text()


def test_a_report_that_cannot_be_written_is_said_before_the_program_runs(program, tmp_path, capsys):
    assert main(["run", "--report", "out.txt", program("print('ran')")]) == 1
    assert main(["run", "--report", str(tmp_path / "none" / "out.html"), program("print('ran')")]) == 1
    said = capsys.readouterr()
    assert "ran" not in said.out
    assert ".html or .json" in said.err
    assert "no folder" in said.err


def test_two_reports_are_compared_and_one_becomes_a_trace(program, tmp_path, capsys):
    for name in ("a", "b"):
        assert main(["run", "--report", str(tmp_path / f"{name}.json"), program()]) == 0
    pair = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    assert main(["report", *pair, "--out", str(tmp_path / "c.html")]) == 0
    assert capsys.readouterr().out.strip() == (tmp_path / "c.html").resolve().as_uri()
    assert (tmp_path / "c.html").read_text().count("data-report>") == 2
    assert main(["report", pair[0], "--out", str(tmp_path / "a.trace.json")]) == 0
    assert json.loads((tmp_path / "a.trace.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.json", "--out", "x.html"], "Cannot read"),
        (["a.json", "--out", "x.pdf"], ".trace.json"),
        (["a.json", "b.json", "--out", "x.trace.json"], "of one report"),
    ],
)
def test_wrong_arguments_are_refused_in_words(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("end", [".html", ".json"])
def test_a_plan_of_the_placer_has_a_report(tmp_path, capsys, end):
    graph, out = tmp_path / "graph.json", tmp_path / f"plan{end}"
    graph.write_text(json.dumps(chain("2 3 4", memory=100.0).to_json()))
    assert main(["place", str(graph), "--budget", "0.1", "--report", str(out)]) == 0
    text = out.read_text()
    data = json.loads(text if end == ".json" else text.partition("data-report>")[2].partition("</script>")[0])
    assert data["graphs"][0]["nodes"]["name"] == ["a", "b", "c"]
    assert data["program"]["duration"] == 9_000_000_000
    assert [data["strings"][data["events"]["name"][place]] for place in data["critical"]] == ["a", "b", "c"]
    assert any("forecast" in note for note in data["notes"])
    assert main(["place", str(graph), "--report", "plan.txt"]) == 1


def test_a_plan_too_long_for_a_report_is_refused(tmp_path, capsys):
    graph, out = tmp_path / "graph.json", tmp_path / "plan.html"
    graph.write_text(json.dumps(chain("1e306 1", memory=100.0).to_json()))
    assert main(["place", str(graph), "--budget", "0.1", "--report", str(out)]) == 1
    assert "too large for a report" in capsys.readouterr().err
    assert not out.exists()


def test_a_plan_that_cannot_be_written_names_one_file(tmp_path, capsys):
    graph, out = tmp_path / "graph.json", tmp_path / "none" / "plan.json"
    graph.write_text(json.dumps(chain("2 3", memory=100.0).to_json()))
    assert main(["place", str(graph), "--budget", "0.1", "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "No such file or directory" in said
    assert "->" not in said


def test_the_demonstration_ends_with_a_report(run_python, tmp_path):
    done = run_python("from situs._src.cli.main import main; main(['demo'])", TMPDIR=str(tmp_path))
    address = next(line for line in done.splitlines() if "as a page" in line)
    page = Path(address.rpartition("file://")[2])
    assert page.is_relative_to(tmp_path)
    assert "situs demo" in page.read_text()
    losses = [float(line.split()[-1]) for line in done.splitlines() if line.startswith("step ")]
    assert len(losses) == 4
    assert losses == sorted(losses, reverse=True)  # it trains
