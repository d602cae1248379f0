"""``tf.logging``: levels and messages, as recorded from TensorFlow."""

from __future__ import annotations

import logging as python_logging
from collections.abc import Iterator
from typing import Any

import pytest

from situs.compat.v1 import logging
from situs.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def _restore_level() -> Iterator[None]:
    before = logging.get_logger().level
    yield
    logging.get_logger().setLevel(before)


def test_levels_are_pythons() -> None:
    levels = [logging.DEBUG, logging.INFO, logging.WARN, logging.ERROR, logging.FATAL]
    assert levels == [10, 20, 30, 40, 50]
    assert logging.get_verbosity() == logging.WARN


@pytest.mark.parametrize(("given", "level"), [(logging.INFO, 20), ("DEBUG", 10), (15, 15)])
def test_verbosity_is_set(given: Any, level: int) -> None:
    logging.set_verbosity(given)
    assert logging.get_verbosity() == level


@pytest.mark.parametrize("given", ["LOUD", None, 1.5])
def test_other_verbosities_are_refused(given: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="The verbosity is a level"):
        logging.set_verbosity(given)


@pytest.mark.parametrize(
    ("function", "level"),
    [
        (logging.debug, "DEBUG"),
        (logging.info, "INFO"),
        (logging.warn, "WARNING"),
        (logging.warning, "WARNING"),
        (logging.error, "ERROR"),
        (logging.fatal, "CRITICAL"),
    ],
)
def test_messages_carry_their_level_and_the_line_they_come_from(
    caplog: pytest.LogCaptureFixture, function: Any, level: str
) -> None:
    logging.set_verbosity(logging.DEBUG)
    function("step %d of %s", 3, "ten")
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("situs", level, "step 3 of ten")
    assert record.filename == "test_logging.py"


def test_less_than_the_verbosity_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    logging.set_verbosity(logging.ERROR)
    logging.warning("w")
    logging.log(logging.INFO, "i")
    logging.vlog(1, "v")
    logging.log(logging.ERROR, "e")
    logging.TaskLevelStatusMessage("t")
    assert [record.getMessage() for record in caplog.records] == ["e", "t"]


def test_messages_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    logging.set_verbosity(logging.INFO)
    for step in range(5):
        logging.log_first_n(logging.INFO, "first %d", 2, step)
        logging.log_every_n(logging.INFO, "every %d", 2, step)
        logging.log_if(logging.INFO, "if %d", step == 3, step)
    logging.log_first_n(logging.INFO, "another line", 1)
    texts = [record.getMessage() for record in caplog.records]
    assert texts == ["first 0", "every 0", "first 1", "every 2", "if 3", "every 4", "another line"]


def test_every_none_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="at least 1, got 0"):
        logging.log_every_n(logging.INFO, "x", 0)


def test_warnings_of_the_package_obey_the_verbosity(caplog: pytest.LogCaptureFixture) -> None:
    logging.set_verbosity(logging.ERROR)
    python_logging.getLogger("situs").warning("quiet")
    logging.flush()
    assert not caplog.records


@pytest.mark.parametrize(
    ("before", "printed"),
    [
        ("", "INFO:situs:hello 3\nCRITICAL:situs:end"),
        ("python.basicConfig(format='mine %(message)s')", "mine hello 3\nmine end"),
    ],
)
def test_programs_see_messages_once(run_python: Any, before: str, printed: str) -> None:
    program = f"""
import logging as python
from situs.compat.v1 import logging
{before}
logging.debug("not shown")
logging.set_verbosity(logging.INFO)
logging.info("hello %d", 3)
logging.fatal("end")
"""
    assert run_python(program).strip() == printed
