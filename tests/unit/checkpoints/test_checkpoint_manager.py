"""``tf.train.CheckpointManager``. Names, the file ``checkpoint`` and messages are TensorFlow 2.21's."""

from __future__ import annotations

import re

import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.checkpoints.checkpoint import Checkpoint, CheckpointV1
from situs._src.checkpoints.finding import latest_checkpoint, load_variable
from situs._src.checkpoints.layout import index_path
from situs._src.checkpoints.manager import CheckpointManager
from situs._src.checkpoints.state import update_checkpoint_state


def manager(folder, keep=2, v=None, **arguments):
    return CheckpointManager(Checkpoint(v=tf.Variable(0.0) if v is None else v), folder, keep, **arguments)


def indices(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".index"))


def test_a_new_folder_has_no_checkpoints(tmp_path):
    made = manager(tmp_path / "run")
    assert (made.latest_checkpoint, made.checkpoints, made.checkpoint_interval) == (None, [], None)
    assert made.directory == f"{tmp_path}/run"
    assert isinstance(made.checkpoint, Checkpoint)


def test_the_last_few_are_kept(tmp_path):
    made = manager(tmp_path / "deep" / "run")
    run = tmp_path / "deep" / "run"
    assert [made.save() for _ in range(4)] == [f"{run}/ckpt-{number}" for number in (1, 2, 3, 4)]
    assert made.checkpoints == [f"{run}/ckpt-3", f"{run}/ckpt-4"]
    assert made.latest_checkpoint == latest_checkpoint(run) == f"{run}/ckpt-4"
    assert indices(run) == ["ckpt-3.index", "ckpt-4.index"]
    assert re.fullmatch(
        'model_checkpoint_path: "ckpt-4"\nall_model_checkpoint_paths: "ckpt-3"\nall_model_checkpoint_paths: "ckpt-4"\n'
        r"(all_model_checkpoint_timestamps: \d+\.?\d*\n){2}last_preserved_timestamp: \d+\.?\d*\n",
        (run / "checkpoint").read_text(),
    )


def test_the_next_manager_goes_on(tmp_path):
    first = manager(tmp_path)
    for _ in range(3):
        first.save()
    second = manager(tmp_path)
    assert second.checkpoints == first.checkpoints
    assert second.restore_or_initialize() == f"{tmp_path}/ckpt-3"
    assert second.save() == f"{tmp_path}/ckpt-4"
    assert indices(tmp_path) == ["ckpt-3.index", "ckpt-4.index"]


def test_all_are_kept_and_known(tmp_path):
    made = manager(tmp_path, None)
    for _ in range(7):
        made.save()
    assert len(made.checkpoints) == len(indices(tmp_path)) == 7
    assert manager(tmp_path, None).checkpoints == made.checkpoints


def test_one_is_kept_in_so_many_hours(tmp_path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr("situs._src.checkpoints.keeping.time.time", lambda: now[0])
    for _ in range(3):  # three processes
        made = manager(tmp_path, 1, keep_checkpoint_every_n_hours=1)
        made.restore_or_initialize()
        for _ in range(3):
            now[0] += 1000
            made.save()
    assert indices(tmp_path) == ["ckpt-4.index", "ckpt-8.index", "ckpt-9.index"]


def test_names_and_numbers_can_be_chosen(tmp_path):
    made = manager(tmp_path, checkpoint_name="foo")
    assert made.save() == f"{tmp_path}/foo-1"
    assert made.save(checkpoint_number=77) == f"{tmp_path}/foo-77"
    assert made.save(checkpoint_number=tf.Variable(78)) == f"{tmp_path}/foo-78"
    assert made.save() == f"{tmp_path}/foo-4"
    assert made.checkpoints == [f"{tmp_path}/foo-78", f"{tmp_path}/foo-4"]


def test_a_number_that_is_used_again_is_the_latest_again(tmp_path):
    made = manager(tmp_path)
    for number in (1, 2, 1):
        made.save(checkpoint_number=number)
    assert made.checkpoints == [f"{tmp_path}/ckpt-2", f"{tmp_path}/ckpt-1"]


def test_steps_have_to_pass(tmp_path):
    step = tf.Variable(0)
    made = manager(tmp_path, step_counter=step, checkpoint_interval=2)
    assert made.checkpoint_interval == 2
    saved = []
    for _ in range(5):
        saved.append(made.save())
        step.assign_add(1)
    run = f"{tmp_path}/ckpt-"
    assert saved == [f"{run}1", None, f"{run}2", None, f"{run}3"]
    assert made.save(check_interval=False) == f"{run}4"


def test_the_latest_is_restored_or_nothing(tmp_path):
    called = []
    v = tf.Variable(0.0)
    made = manager(tmp_path, v=v, init_fn=lambda: called.append(1))
    assert made.restore_or_initialize() is None
    assert called == [1]
    for value in (1.0, 2.0):
        v.assign(value)
        made.save()
    v.assign(0.0)
    assert manager(tmp_path, v=v, init_fn=lambda: called.append(2)).restore_or_initialize() == f"{tmp_path}/ckpt-2"
    assert v.numpy() == 2.0
    assert called == [1]


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    v = tf.Variable(0.0)
    made = manager(tmp_path, v=v)
    for value in (1.0, 2.0):
        v.assign(value)
        made.save()
    index_path(tmp_path / "ckpt-2").write_bytes(b"damaged")
    assert manager(tmp_path, v=v).restore_or_initialize() == f"{tmp_path}/ckpt-1"
    assert v.numpy() == 1.0


def test_a_hostile_state_leads_to_no_deletion_elsewhere(tmp_path):
    precious = Checkpoint(v=tf.Variable(5.0)).write(tmp_path / "precious")
    run = tmp_path / "run"
    run.mkdir()
    update_checkpoint_state(run, precious, [run / ".." / "precious", precious])
    made = manager(run, 1)
    assert made.checkpoints == []
    for _ in range(3):
        made.save()
    assert load_variable(precious, "v/.ATTRIBUTES/VARIABLE_VALUE") == 5.0


def test_the_folder_may_be_relative_and_may_be_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = manager("run")
    assert [made.save(), made.save(), made.save()][-1] == "run/ckpt-3"
    (tmp_path / "run").rename(tmp_path / "moved")
    assert manager("moved").checkpoints == ["moved/ckpt-2", "moved/ckpt-3"]
    assert manager(".").save() == "./ckpt-1"


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"max_to_keep": 0}, ValueError, "Expected a positive integer or `None` for `max_to_keep`, got 0"),
        ({"max_to_keep": -2}, ValueError, "Expected a positive integer or `None` for `max_to_keep`, got -2"),
        ({"max_to_keep": "2"}, TypeError, "max_to_keep"),
        (
            {"checkpoint_interval": 2},
            ValueError,
            "`step_counter` should be passed if `checkpoint_interval` is not None",
        ),
        ({"checkpoint": 3}, TypeError, r"manages a tf\.train\.Checkpoint, got 3"),
        ({"directory": None}, TypeError, "Expected binary or unicode string"),
        ({"keep_checkpoint_every_n_hours": "x"}, TypeError, "keep_checkpoint_every_n_hours"),
    ],
)
def test_arguments_of_the_wrong_kind_are_errors(tmp_path, arguments, error, match):
    given = {"checkpoint": Checkpoint(v=tf.Variable(0.0)), "directory": tmp_path, "max_to_keep": 2, **arguments}
    with pytest.raises(error, match=match):
        CheckpointManager(**given)


def test_variables_of_graphs_are_managed_in_a_session(tmp_path):
    with tf1.Graph().as_default(), tf1.Session() as sess:
        v = tf1.Variable(3.0, name="v")
        made = CheckpointManager(CheckpointV1(v=v), tmp_path, 2)
        sess.run(v.initializer)
        assert [made.save(session=sess), made.save()] == [f"{tmp_path}/ckpt-1", f"{tmp_path}/ckpt-2"]
    assert load_variable(tmp_path, "v/.ATTRIBUTES/VARIABLE_VALUE") == 3.0


def test_what_no_manager_has_saved_is_not_managed(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    paths = [checkpoint.save(str(tmp_path / "unusual")) for _ in range(2)]
    again = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(again, str(tmp_path), max_to_keep=2)
    assert manager.latest_checkpoint == paths[1]
    assert manager.checkpoints == []
    again.restore(manager.latest_checkpoint)
    third = manager.save()
    assert third.endswith("ckpt-3")
    assert manager.checkpoints == [third]
    saved = [third, manager.save(), manager.save()]
    assert manager.checkpoints == saved[1:]
    for path, stays in zip([*paths, *saved], [True, True, False, True, True], strict=True):
        assert bool(list(tmp_path.glob(f"{path.rpartition('/')[2]}.index"))) is stays
