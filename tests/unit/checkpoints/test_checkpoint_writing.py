"""Writing a checkpoint: all of it or nothing, beside others, and without a trace of those that failed."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from situs._src.base import drafts
from situs._src.base import dtype as dt
from situs._src.base.drafts import Draft, write_whole
from situs._src.checkpoints import sweeping, writer
from situs._src.checkpoints.finding import remove_checkpoint
from situs._src.checkpoints.layout import index_path, prefix_path, shard_file, shard_path, shards_on_disk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.sweeping import sweep
from situs._src.checkpoints.writer import Saved, write
from situs.errors import (
    AbortedError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)
from tests.conftest import STUCK
from tests.unit.checkpoints.samples import forge, is_sample, read_all, write_sample

ROOT = Path(__file__).parents[3]


def value(number, name="w", device="/device:CPU:0"):
    return Saved(name, dt.float32, torch.full((4,), float(number)), device)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def held(prefix):
    return read_all(prefix)["w"].tolist()


# What is written.


def test_there_is_one_shard_for_each_device(tmp_path):
    index = write(tmp_path / "m", [value(1, "a", "GPU:1"), value(2, "b", "CPU:0"), value(3, "c", "GPU:1")])
    assert names(tmp_path) == ["m.data-00000-of-00002.safetensors", "m.data-00001-of-00002.safetensors", "m.index"]
    assert {name: (entry.shard, entry.device) for name, entry in index.entries.items()} == {
        "a": (1, "GPU:1"),
        "b": (0, "CPU:0"),
        "c": (1, "GPU:1"),
    }


def test_there_is_one_file_of_values_if_that_is_wanted(tmp_path):
    write(tmp_path / "m", [value(1, "a", "GPU:1"), value(2, "b", "CPU:0")], sharded=False)
    assert names(tmp_path) == ["m.data-00000-of-00001.safetensors", "m.index"]
    assert read_all(tmp_path / "m")["b"].tolist() == [2.0] * 4


def test_many_shards_are_written_side_by_side(tmp_path):
    write(tmp_path / "m", [value(number, f"v{number}", f"GPU:{number}") for number in range(20)])
    assert len(shards_on_disk(tmp_path / "m")) == 20
    assert all(found[0] == int(name[1:]) for name, found in read_all(tmp_path / "m").items())


def test_a_checkpoint_may_be_empty(tmp_path):
    write(tmp_path / "m", [])
    assert read_all(tmp_path / "m") == {}


@pytest.mark.parametrize("name", ["", "a/b:c", "ключ", '"quoted"\\', "line\nbreak", "\x00", "x" * 10_000])
def test_any_text_is_a_name(tmp_path, name):
    write(tmp_path / "m", [value(1, name)])
    assert list(read_all(tmp_path / "m")) == [name]


@pytest.mark.parametrize("name", ["\ud800", "__metadata__"])
def test_a_name_that_cannot_be_written_is_refused(tmp_path, name):
    with pytest.raises(InvalidArgumentError, match="cannot be the name of a variable"):
        write(tmp_path / "m", [value(1, name)])
    assert names(tmp_path) == []


@pytest.mark.parametrize("prefix", ["", "run/", "/", ".", "run/.."])
def test_a_checkpoint_needs_a_name(prefix):
    with pytest.raises(InvalidArgumentError, match="A checkpoint needs a name"):
        prefix_path(prefix)


def test_paths_may_have_the_scheme_of_files(tmp_path):
    assert prefix_path(f"file://{tmp_path}/m") == tmp_path / "m"


# In place of an older one.


def test_a_checkpoint_takes_the_place_of_the_one_before(tmp_path):
    for number in range(3):
        write(tmp_path / "m", [value(number)])
        assert held(tmp_path / "m") == [float(number)] * 4
        assert len(names(tmp_path)) == 2


def test_who_has_opened_the_old_one_can_read_it_to_the_end(tmp_path):
    write(tmp_path / "m", [value(1)])
    reader = CheckpointReader(tmp_path / "m").open_all()
    write(tmp_path / "m", [value(2)])
    remove_checkpoint(tmp_path / "m")
    assert reader.get_tensor("w").tolist() == [1.0] * 4


def test_who_opens_it_while_it_is_replaced_gets_the_new_one(tmp_path):
    write(tmp_path / "m", [value(1)])
    reader = CheckpointReader(tmp_path / "m")
    write(tmp_path / "m", [value(2)])
    assert reader.open_all().get_tensor("w").tolist() == [2.0] * 4


def test_fewer_shards_leave_nothing_of_the_many_before(tmp_path):
    write(tmp_path / "m", [value(number, f"v{number}", f"GPU:{number}") for number in range(3)])
    write(tmp_path / "m", [value(1)])
    assert len(names(tmp_path)) == 2


def test_checkpoints_with_names_that_begin_alike_are_left_alone(tmp_path):
    others = ["m-1", "m.data", "m.data-00000-of-00001", "mm"]
    for name in others:
        write(tmp_path / name, [value(5)])
    for _ in range(2):
        write(tmp_path / "m", [value(1)])
    remove_checkpoint(tmp_path / "m")
    assert all(held(tmp_path / name) == [5.0] * 4 for name in others)
    assert len(names(tmp_path)) == 2 * len(others)


# The order of things.


def test_names_follow_bytes_and_the_index_comes_last(tmp_path, monkeypatch):
    done = []

    def watched(name, what):
        original = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, **kwargs: (done.append(what(args)), original(*args, **kwargs))[1])

    watched("fsync", lambda args: "folder" if Path(f"/proc/self/fd/{args[0]}").is_dir() else "bytes")
    watched("link", lambda args: f"name {Path(args[1]).suffix}")
    watched("replace", lambda args: f"name {Path(args[1]).suffix}")
    write(tmp_path / "m", [value(1, "a", "CPU:0"), value(2, "b", "GPU:0")])
    assert done == ["bytes"] * 3 + ["name .safetensors"] * 2 + ["folder", "name .index", "folder"]


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "state"
    path.write_bytes(b"old")
    link = os.open(path, os.O_RDONLY)
    write_whole(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert os.read(link, 100) == b"old"
    os.close(link)
    assert names(tmp_path) == ["state"]


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for name in ("m.index", "m.data-00000-of-00001.safetensors"):
        (tmp_path / name).symlink_to(victim)
    write(tmp_path / "m", [value(1)])
    assert victim.read_bytes() == b"precious"
    assert held(tmp_path / "m") == [1.0] * 4


# Failures.

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def failing(error, after=0):
    """A function that works so many times and then fails."""
    left = after

    def call(original):
        def function(*args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0:
                raise error
            return original(*args, **kwargs)

        return function

    return call


STEPS = [*(("fsync", number) for number in range(4)), ("link", 0), ("link", 1), ("replace", 0)]


@pytest.mark.parametrize(("place", "after"), STEPS)
def test_a_disk_that_is_full_leaves_the_old_checkpoint(tmp_path, monkeypatch, place, after):
    write_sample(tmp_path / "m")
    before = names(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, place, failing(FULL, after)(getattr(os, place)))
        with pytest.raises(ResourceExhaustedError, match="No space left on device"):
            write_sample(tmp_path / "m")
    assert names(tmp_path) == before
    assert is_sample(read_all(tmp_path / "m"))


def test_a_failure_after_the_index_has_its_name_leaves_the_new_checkpoint(tmp_path, monkeypatch):
    write_sample(tmp_path / "m")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(FULL, 3)(os.fsync))
        with pytest.raises(ResourceExhaustedError):
            write(tmp_path / "m", [value(1)])
    assert held(tmp_path / "m") == [1.0] * 4


def test_a_disk_that_is_full_in_the_middle_of_a_value_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    write_sample(tmp_path / "m")
    before = names(tmp_path)

    def pieces(value):
        yield memoryview(b"some")
        raise FULL

    monkeypatch.setattr(writer, "pieces", pieces)
    with pytest.raises(ResourceExhaustedError, match="m; No space left on device"):
        write_sample(tmp_path / "m")
    assert names(tmp_path) == before
    assert is_sample(read_all(tmp_path / "m"))


def test_a_disk_that_takes_no_more_bytes_leaves_the_old_checkpoint(tmp_path, run_python):
    """The limit on the size of files stands in for the disk."""
    out = run_python(f"""
import os, resource, signal, torch
import situs as tf
from situs._src.base import dtype as dt
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.writer import Saved, write
from pathlib import Path
prefix = Path({str(tmp_path)!r}, "m")
write(prefix, [Saved("w", dt.float32, torch.ones(2), "CPU:0")])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write(prefix, [Saved("w", dt.float32, torch.ones(5_000_000), "CPU:0")])
except tf.errors.OpError as error:
    print(type(error).__name__, str(error).rpartition("; ")[2])
print(CheckpointReader(prefix).get_tensor("w").tolist(), len(os.listdir({str(tmp_path)!r})))
""")
    assert out == "UnknownError File too large\n[1.0, 1.0] 3\n"  # two files and the program


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(("place", "after"), STEPS)
def test_an_interruption_leaves_the_old_checkpoint(tmp_path, monkeypatch, place, after, interruption):
    write_sample(tmp_path / "m")
    before = names(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, place, failing(interruption(), after)(getattr(os, place)))
        with pytest.raises(interruption):
            write_sample(tmp_path / "m")
    assert names(tmp_path) == before
    assert is_sample(read_all(tmp_path / "m"))


def test_an_interruption_after_the_index_has_its_name_leaves_the_new_checkpoint(tmp_path, monkeypatch):
    write_sample(tmp_path / "m")

    def replaced(self, path):
        self.path.replace(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Draft, "replace", replaced)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "m", [value(1)])
    assert held(tmp_path / "m") == [1.0] * 4


def test_a_folder_that_must_not_be_written_is_a_clear_error(tmp_path, monkeypatch):
    denied = OSError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "open", failing(denied)(Path.open))
    with pytest.raises(PermissionDeniedError, match="m; Permission denied"):
        write_sample(tmp_path / "m")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_rights_is_a_clear_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionDeniedError):
        write_sample(tmp_path / "m")
    tmp_path.chmod(0o700)


def test_a_folder_that_cannot_be_written_at_all_is_a_clear_error():
    with pytest.raises((PermissionDeniedError, NotFoundError, InvalidArgumentError, UnknownError)):
        write_sample(Path("/proc/self/m"))


def test_a_folder_that_is_a_file_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OpError, match="Not a directory"):
        write_sample(tmp_path / "file" / "m")


@pytest.mark.parametrize("length", [225, 250, 256, 5000])
def test_a_name_that_is_too_long_is_found_out_before_anything_is_written(tmp_path, monkeypatch, length):
    monkeypatch.setattr(writer, "Draft", None)
    with pytest.raises(InvalidArgumentError, match="File name too long"):
        write_sample(tmp_path / ("m" * length))
    assert names(tmp_path) == []


def test_a_name_as_long_as_it_may_be_works(tmp_path):
    prefix = tmp_path / ("m" * (255 - len(".data-00000-of-00002.safetensors")))
    write_sample(prefix)
    assert is_sample(read_all(prefix))


def test_a_name_with_a_null_is_a_clear_error(tmp_path):
    with pytest.raises(InvalidArgumentError, match="cannot be a path"):
        write_sample(tmp_path / "a\x00b")


# Beside others.


def test_two_that_save_under_one_name_do_not_mix(tmp_path, monkeypatch):
    """The second publishes its shard between the first one's look at the names and its own publishing."""
    publish = Draft.publish

    def late(self, path):
        if not path.exists():
            path.write_bytes(b"of the other")
        publish(self, path)

    monkeypatch.setattr(Draft, "publish", late)
    with pytest.raises(AbortedError, match="another process or thread saves under the same name"):
        write(tmp_path / "m", [value(1)])
    assert shards_on_disk(tmp_path / "m")[0].read_bytes() == b"of the other"
    assert len(names(tmp_path)) == 1


def test_threads_that_save_under_one_name_leave_one_whole_checkpoint(tmp_path):
    failures = []

    def save(number):
        for _ in range(10):
            try:
                write(tmp_path / "m", [value(number), value(number, "v", "GPU:0")])
            except AbortedError:
                pass  # says that another one was first
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    found = read_all(tmp_path / "m")
    assert found["w"].tolist() == found["v"].tolist()


def test_a_draft_that_a_sweeper_claims_before_its_writer_is_not_used(tmp_path, monkeypatch):
    flock, claims = fcntl.flock, []

    def claimed_first(number, how):
        if not claims:
            (draft,) = tmp_path.iterdir()
            claims.append(draft.open("rb"))
            flock(claims[0].fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        flock(number, how)

    monkeypatch.setattr(drafts.fcntl, "flock", claimed_first)
    with Draft(tmp_path) as draft:
        assert claims[0].name != str(draft.path)
        Path(claims[0].name).unlink(missing_ok=True)  # what the sweeper does next
        claims[0].close()
        draft.file.write(b"whole")
        draft.finish()
        draft.publish(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert names(tmp_path) == ["file"]


def test_who_tidies_up_leaves_what_another_has_just_finished(tmp_path, monkeypatch):
    """The second has published its shards when the first looks for old ones, and finishes before the first deletes."""
    published, looked = threading.Event(), threading.Event()
    replace, used_by = Draft.replace, sweeping._used_by
    second = threading.Thread(target=lambda: write(tmp_path / "m", [value(2), value(2, "v", "GPU:0")]))

    def wait_for_the_first(self, path):
        if threading.current_thread() is second:
            published.set()
            assert looked.wait(STUCK)
        replace(self, path)

    def let_the_second_finish(prefix):
        found = used_by(prefix)
        if threading.current_thread() is not second and not looked.is_set():
            looked.set()
            second.join()
        return found

    monkeypatch.setattr(Draft, "replace", wait_for_the_first)
    write(tmp_path / "m", [value(0)])
    second.start()
    assert published.wait(STUCK)
    monkeypatch.setattr(sweeping, "_used_by", let_the_second_finish)
    write(tmp_path / "m", [value(1)])
    found = read_all(tmp_path / "m")
    assert found["w"].tolist() == found["v"].tolist() == [2.0] * 4


def test_processes_that_save_in_one_folder_do_not_disturb_each_other(tmp_path):
    program = """
import sys, torch
from pathlib import Path
from situs._src.base import dtype as dt
from situs._src.checkpoints.finding import remove_checkpoint
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.writer import Saved, write
folder, name = Path(sys.argv[1]), sys.argv[2]
for step in range(25):
    write(folder / f"{name}-{step}", [Saved("w", dt.float32, torch.full((5000,), float(step)), "CPU:0")])
    assert float(CheckpointReader(folder / f"{name}-{step}").get_tensor("w").sum()) == 5000 * step
    if step > 1:
        remove_checkpoint(folder / f"{name}-{step - 2}")
"""
    run = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen([*run, name], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}) for name in "ab"]
    assert [process.wait(STUCK) for process in processes] == [0, 0]
    assert names(tmp_path) == sorted(
        f"{name}-{step}.{rest}"
        for name in "ab"
        for step in (23, 24)
        for rest in ("data-00000-of-00001.safetensors", "index")
    )


def test_a_file_system_without_links_is_served_too(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", failing(OSError(errno.EPERM, "Operation not permitted"))(os.link))
    for number in range(2):
        write(tmp_path / "m", [value(number)])
        assert held(tmp_path / "m") == [float(number)] * 4


def test_a_file_system_that_cannot_flush_folders_is_served_too(tmp_path, monkeypatch):
    fsync = os.fsync

    def of_files(number):
        if os.path.isdir(f"/proc/self/fd/{number}"):  # noqa: PTH112
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(number)

    monkeypatch.setattr(os, "fsync", of_files)
    write(tmp_path / "m", [value(1)])
    assert held(tmp_path / "m") == [1.0] * 4


def test_a_draft_that_cannot_be_deleted_is_no_failure(tmp_path, monkeypatch):
    write(tmp_path / "m", [value(1)])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", failing(OSError(errno.EIO, "Input/output error"))(Path.unlink))
        write_whole(tmp_path / "state", b"x")
        with Draft(tmp_path) as draft:
            draft.file.write(b"never named")
    assert draft.path.exists()
    sweep(tmp_path)
    assert not draft.path.exists()


def test_a_file_system_without_locks_is_served_too(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", failing(OSError(errno.ENOTSUP, "Not supported"))(fcntl.flock))
    for number in range(2):
        write(tmp_path / f"m-{number}", [value(number)])
    assert held(tmp_path / "m-1") == [1.0] * 4


# What killed writers leave.


def dead_draft(folder, content=b"half a value"):
    draft = Draft(folder)
    draft.file.write(content)
    draft.finish()
    draft.file.close()  # which ends the lock, as death does
    return draft.path


def test_drafts_of_the_dead_are_deleted_by_the_next_save(tmp_path):
    dead_draft(tmp_path)
    write(tmp_path / "m", [value(1)])
    assert len(names(tmp_path)) == 2


def test_drafts_of_the_living_are_left_alone(tmp_path):
    with Draft(tmp_path) as draft:
        draft.file.write(b"to be continued")
        write(tmp_path / "m", [value(1)])
        assert draft.path.exists()
    assert not draft.path.exists()


def test_only_files_that_are_named_as_drafts_are_deleted(tmp_path):
    others = [".situs-0123.tmp", ".situs-0123456789abcdeX.tmp", "x.situs-0123456789abcdef.tmp", ".situs-notes", "m.tmp"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    sweep(tmp_path)
    assert names(tmp_path) == sorted(others)


def published_without_index(folder, name="m"):
    """What a writer leaves that is killed between publishing its shards and its index."""
    write(folder / name, [value(1)])
    content = index_path(folder / name).read_bytes()
    index_path(folder / name).unlink()
    return dead_draft(folder, content)


def test_shards_without_an_index_go_with_the_draft_of_the_index(tmp_path):
    published_without_index(tmp_path)
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_shards_that_a_checkpoint_uses_stay(tmp_path):
    draft = published_without_index(tmp_path)
    index_path(tmp_path / "m").write_bytes(draft.read_bytes())
    sweep(tmp_path)
    assert held(tmp_path / "m") == [1.0] * 4


def test_shards_stay_if_the_index_that_may_use_them_cannot_be_read(tmp_path):
    published_without_index(tmp_path)
    index_path(tmp_path / "m").write_bytes(b"damaged")
    sweep(tmp_path)
    assert shards_on_disk(tmp_path / "m")


def test_shards_that_nobody_claims_are_not_ours_to_delete(tmp_path):
    path = shard_path(tmp_path / "copied", shard_file(0, 1))
    path.write_bytes(b"a copy that is not complete yet")
    write(tmp_path / "m", [value(1)])
    assert path.exists()


def test_an_index_of_another_place_leads_to_no_deletion(tmp_path):
    (tmp_path / "other").mkdir()
    write(tmp_path / "other" / "m", [value(1)])
    index = index_path(tmp_path / "other" / "m")
    for name in ("../other/m", str(tmp_path / "other" / "m"), "other/m", "m\\u0000"):
        forge(tmp_path / "other" / "m", lambda content, name=name: content.update(name=name))
        dead_draft(tmp_path, index.read_bytes())
    index.unlink()
    sweep(tmp_path)
    assert names(tmp_path) == ["other"]
    assert len(names(tmp_path / "other")) == 1


def test_a_deletion_that_was_cut_short_is_finished_by_the_next_save(tmp_path, monkeypatch):
    write(tmp_path / "old", [value(1)])
    with monkeypatch.context() as patch:
        patch.setattr("situs._src.checkpoints.finding.delete_unused", failing(KeyboardInterrupt())(None))
        with pytest.raises(KeyboardInterrupt):
            remove_checkpoint(tmp_path / "old")
    assert not index_path(tmp_path / "old").exists()
    write(tmp_path / "new", [value(2)])
    assert len(names(tmp_path)) == 2


def test_random_values_survive(tmp_path):
    rng = np.random.default_rng(3)
    arrays = {f"v{number}": rng.standard_normal(rng.integers(0, 9, rng.integers(0, 4))) for number in range(30)}
    write(tmp_path / "m", [Saved(k, dt.float64, torch.from_numpy(v), f"GPU:{len(k) % 3}") for k, v in arrays.items()])
    found = read_all(tmp_path / "m")
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_an_index_that_is_no_file_is_not_waited_for(tmp_path, make):
    published_without_index(tmp_path)
    make(index_path(tmp_path / "m"))
    sweep(tmp_path)
    assert shards_on_disk(tmp_path / "m")
