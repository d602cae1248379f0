"""Running input pipelines to their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import situs.compat.v1 as tf
from situs import errors
from situs.compat.v1 import train
from tests.conftest import STUCK

LIMIT = STUCK


@pytest.fixture
def graph() -> Iterator[Any]:
    """A graph of the test's own."""
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def all_of() -> Callable[..., list[Any]]:
    """What a pipeline gives until it ends, or `most` of it."""

    def run(fetch: Any, most: int = 1000) -> list[Any]:
        taken: list[Any] = []
        with tf.Session() as sess:
            sess.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
            coord = train.Coordinator()
            threads = train.start_queue_runners(sess, coord)
            try:
                while len(taken) < most:
                    taken.append(sess.run(fetch))
            except errors.OutOfRangeError:
                pass
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=LIMIT)
        return taken

    return run
