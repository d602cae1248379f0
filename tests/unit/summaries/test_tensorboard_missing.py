"""The package ``tensorboard`` is loaded when it is first needed; summaries say so if it is missing."""

from __future__ import annotations

import pytest


def test_importing_situs_does_not_load_tensorboard(run_python):
    program = """
import sys
import situs as tf
import situs.compat.v1
from situs import summary
from situs.compat.v1 import summary as summary_v1
print(summary.scalar("loss", tf.constant(1.0), step=1).numpy())
print("tensorboard" in sys.modules, "PIL" in sys.modules)
"""
    assert run_python(program) == "False\nFalse False\n"


def test_a_missing_package_is_named(run_python):
    program = """
import sys
sys.modules["tensorboard"] = None
import situs.compat.v1 as tf
from situs import summary
from situs.compat.v1 import summary as summary_v1
for use in (
    lambda: summary.create_file_writer("logs"),
    lambda: summary_v1.FileWriter("logs"),
    lambda: summary_v1.Summary,
    lambda: summary_v1.text("t", "x"),
):
    try:
        use()
    except tf.errors.NotFoundError as error:
        print("pip install tensorboard" in str(error))
"""
    assert run_python(program) == "True\n" * 4


def test_messages_have_no_other_names():
    from situs._src.summaries import messages
    from situs.compat.v1 import summary

    for module in (messages, summary):
        with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
            module.Nonsense
        assert module.Summary.__doc__
