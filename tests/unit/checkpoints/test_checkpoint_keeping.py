"""Which checkpoints are kept, and what is written down while others are deleted."""

from __future__ import annotations

from situs._src.checkpoints.keeping import Keeper
from situs.errors import PermissionDeniedError


def test_what_leaves_is_written_down_until_it_is_deleted():
    keeper, done = Keeper(max_to_keep=1, hours=1), []
    for path in ("a", "b"):
        keeper.add(path)
    keeper.write_state(lambda paths, times: done.append(paths), done.append)
    assert done == [["a", "b"], "a", ["b"]]


def test_what_is_saved_again_before_it_was_deleted_stays():
    keeper, deleted = Keeper(max_to_keep=1, hours=1), []
    for path in ("a", "b", "a"):
        keeper.add(path)
    keeper.write_state(lambda paths, times: None, deleted.append)
    assert (keeper.paths, deleted) == (["a"], ["b"])


def test_what_cannot_be_deleted_stays_with_a_warning(caplog):
    def refuse(path):
        raise PermissionDeniedError(f"{path} is not yours")

    keeper = Keeper(max_to_keep=1, hours=1)
    for path in ("a", "b"):
        keeper.add(path)
    keeper.write_state(lambda paths, times: None, refuse)
    assert keeper.paths == ["b"]
    assert "The old checkpoint a cannot be deleted, and stays: a is not yours" in caplog.text
