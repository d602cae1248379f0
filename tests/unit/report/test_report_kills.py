"""Reports and plans whose writers are killed: the file there was, or the new one, never a part.

A process that has everything loaded forks a writer for each kill, which writes one file over and over.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

import situs as tf
from situs._src.base.drafts import is_draft, write_named
from situs._src.report import schema

KILLS = """
import os, random, signal, sys, time
import situs as tf
from situs._src.placement.search.problem import Device, Node, Problem

folder, what = sys.argv[1:]
random.seed(what)
problem = Problem(tuple(Node(f"n{i}", (1.0,)) for i in range(3000)), (), (Device("CPU:0", "CPU"),), ())
plan = tf.placement.plan_of(problem, {node.name: "CPU:0" for node in problem.nodes})
with tf.report() as report:
    for _ in range(200):
        tf.ones([2]) + 1.0
writes = {
    "report.json": lambda path: report.save(path),
    "plan.json": lambda path: plan.save(path),
}
path = os.path.join(folder, what)
writes[what](path)
started = time.perf_counter()
writes[what](path)
took = time.perf_counter() - started
for _ in range(25):
    child = os.fork()
    if not child:
        while True:
            writes[what](path)
    time.sleep(random.random() * 3 * took)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(path, "rb") as file:
        print(len(file.read()), flush=True)
"""


@pytest.mark.parametrize("what", ["report.json", "plan.json"])
def test_a_killed_writer_leaves_a_whole_file(run_python, tmp_path, what):
    folder = tmp_path / "written"
    folder.mkdir()
    program = KILLS.replace("folder, what = sys.argv[1:]", f"folder, what = {str(folder)!r}, {what!r}")
    sizes = {int(line) for line in run_python(program).split()}
    assert len(sizes) == 1, sizes  # each time all of it
    text = (folder / what).read_text()
    if what == "report.json":
        schema.read(json.loads(text), what)
    else:
        assert len(tf.placement.load_plan(folder / what).placement) == 3000
    assert all(name == what or is_draft(name) for name in (path.name for path in folder.iterdir()))


def test_a_file_with_a_name_keeps_its_mode_and_its_link(tmp_path):
    (tmp_path / "there.json").write_text("old")
    (tmp_path / "there.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to("there.json")
    write_named(tmp_path / "link.json", "new \udcff")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "there.json").read_text() == "new ?"
    assert stat.S_IMODE((tmp_path / "there.json").stat().st_mode) == 0o640


def test_what_is_no_file_is_written_to_as_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path(pipe).read_text()))
    reader.start()
    write_named(pipe, "through")
    reader.join(60)
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
