"""The parts of the site: docstrings as markup, how names compare with TensorFlow's, graphs of results."""

from __future__ import annotations

import re

import pytest

import situs as tf
from scripts.build_site import charts, reference, restructured
from scripts.build_site.comparison import Comparison


class TestDocstrings:
    def test_code_is_literal_and_all_else_is_escaped(self):
        assert restructured.inline("the `axis` of *a_ and ``b``s") == r"the ``axis`` of \*a\_ and ``b``\ s"

    def test_a_space_after_code_stays(self):
        assert restructured.inline("if `adjoint` is set") == "if ``adjoint`` is set"

    def test_arguments_become_fields(self):
        lines = restructured.body(
            "Adds.\n\n    Args:\n        x: A tensor\n            of floats.\n        *rest: Others.\n"
        )
        assert ":param x: A tensor of floats." in lines
        assert r":param \*rest: Others." in lines

    def test_examples_are_shown_as_they_are(self):
        lines = restructured.body("Adds.\n\n    Example:\n        >>> 1 + 1\n        2\n")
        assert lines[lines.index(".. code-block:: pycon") :] == [
            ".. code-block:: pycon",
            "",
            "    >>> 1 + 1",
            "    2",
            "",
        ]

    def test_a_drawing_is_no_python(self):
        assert ".. code-block:: text" in restructured.body("How:\n\n        a  -->  b\n\n    So.\n")

    def test_the_summary_is_the_first_sentence(self):
        assert restructured.summary("Adds `x`. And more.\n\n    Args:\n") == "Adds ``x``."


@pytest.fixture(scope="module")
def comparison():
    return Comparison()


class TestComparison:
    def test_a_name_that_tensorflow_has_is_the_same(self, comparison):
        assert comparison.verdict("nn.relu", tf.nn.relu).kind == "same"

    def test_a_name_that_says_how_it_differs(self, comparison):
        verdict = comparison.verdict("sort", tf.sort)
        assert (verdict.kind, verdict.how) == ("differs", "NaN counts as the largest; TensorFlow may put it anywhere.")

    def test_the_older_dialect_differs_as_its_namesake_does(self, comparison):
        assert comparison.verdict("compat.v1.sort", tf.compat.v1.sort) == comparison.verdict("sort", tf.sort)

    def test_parameters_that_are_lacking_are_named(self, comparison):
        assert comparison.verdict("nn.relu", lambda features: None).how == "Takes no `name`."

    def test_what_takes_any_keyword_lacks_none(self, comparison):
        assert comparison.verdict("nn.relu", lambda **all_of_them: None).kind == "same"

    def test_what_tensorflow_has_not_is_our_own(self, comparison):
        assert comparison.verdict("explain", tf.explain).kind == "own"

    def test_what_is_absent_is_what_is_not_named(self, comparison):
        missing = comparison.absent({"nn.relu"})
        assert "nn.relu6" in missing
        assert "nn.relu" not in missing

    def test_every_public_name_has_an_entry_with_a_home_that_exists(self, comparison):
        entries = reference.entries(comparison)
        names = {entry.name for entry in entries}
        assert {"matmul", "compat.v1.placeholder", "raw_ops.MatMul", "errors.OpError"} <= names
        assert [entry.name for entry in entries if entry.home not in names] == []

    def test_one_function_is_described_once(self, comparison):
        homes = {entry.name: entry.home for entry in reference.entries(comparison)}
        assert homes["linalg.matmul"] == homes["compat.v1.matmul"] == "matmul"


class TestCharts:
    PAGE = """# Results

| benchmark | what | figure | at most | |
|---|---|---|---|---|
| session | <b>nodes | 0.50x torch | 2 | reached |
| session | taken | 0 bytes | 0 | reached |
| memory | peak | 3.00 MiB | 1.5 | MISSED |

## session

## memory
"""

    def test_rows_are_read(self):
        assert [(row.what, row.share, row.reached) for row in charts.results(self.PAGE)] == [
            ("<b>nodes", 0.25, True),
            ("taken", 0.0, True),
            ("peak", 2.0, False),
        ]

    def test_each_benchmark_gets_a_picture_in_its_section(self):
        page, pictures = charts.with_charts(self.PAGE, "R")
        assert sorted(pictures) == ["R-memory.svg", "R-session.svg"]
        assert re.search(r"## session\n\n!\[.*\]\(R-session.svg\)", page)

    def test_values_are_escaped_and_what_was_missed_has_another_colour(self):
        _, pictures = charts.with_charts(self.PAGE, "R")
        assert "<b>" not in pictures["R-session.svg"]
        assert 'class="c6"' in pictures["R-memory.svg"]
        assert 'class="c6"' not in pictures["R-session.svg"]
