"""The page: one file that loads nothing, in which a name of the program is never markup or code; and its size."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from situs import errors
from situs._src.report.page import PACKED_FROM, page
from tests.unit.report.made import HOSTILE, OTHERS, large, small

MEGABYTE = 1_000_000


class Elements(HTMLParser):
    """What a browser makes of a page: its elements, and the texts of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.found and self.found[-1][0] in ("script", "style") and data.strip():
            self.texts.append((*self.found[-1], data))


def data_in(text):
    scripts = [(attrs, body) for tag, attrs, body in Elements(text).texts if tag == "script" and "data-report" in attrs]
    return [
        json.loads(body if attrs["type"] == "application/json" else gzip.decompress(base64.b64decode(body)))
        for attrs, body in scripts
    ]


@pytest.mark.parametrize("name", [HOSTILE, *OTHERS])
def test_a_hostile_name_adds_no_element_and_survives_as_text(name):
    plain, hostile = small(), small(name, title=name)
    text = page([hostile])
    assert [tag for tag, _ in Elements(text).found] == [tag for tag, _ in Elements(page([plain])).found]
    assert data_in(text) == [json.loads(json.dumps(hostile))]
    assert name in hostile["strings"]


def test_only_the_scripts_and_the_style_of_the_page_may_run():
    text = page([small()])
    elements = Elements(text)
    policy = next(
        attrs["content"] for tag, attrs in elements.found if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    code = [body for tag, attrs, body in elements.texts if tag == "style" or (tag == "script" and "type" not in attrs)]
    hashes = [base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in code]
    assert len(hashes) == 4
    assert all(f"'sha256-{each}'" in policy for each in hashes)
    assert policy.count("sha256-") == 4


def test_the_page_loads_nothing():
    elements = Elements(page([small(), small()]))
    assert not [tag for tag, attrs in elements.found if tag in ("link", "img", "iframe", "object") or "src" in attrs]
    ours = "".join(body for tag, attrs, body in elements.texts if "data-report" not in attrs)
    assert re.findall(
        r"\b(?:eval|new Function|XMLHttpRequest|importScripts|WebSocket|innerHTML|document\.write)\b", ours
    ) in (
        [],
        ["innerHTML"] * ours.count("innerHTML"),
    )
    without_libraries = page.__globals__["_packed_assets"]()[2]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|fetch\(", without_libraries)


@pytest.mark.parametrize("scoped", [True, False])
def test_ten_thousand_operations_are_far_below_five_megabytes(scoped):
    data = large(10_000, steps=2, scoped=scoped)
    text = page([data])
    assert len(json.dumps(data)) > PACKED_FROM
    assert len(text) < 2 * MEGABYTE
    assert data_in(text) == [json.loads(json.dumps(data))]


def test_two_reports_are_on_one_page():
    text = page([small(), small("Other")])
    assert [each["graphs"][0]["title"] for each in data_in(text)] == ["MatMul", "Other"]


@pytest.mark.parametrize("count", [0, 3])
def test_other_numbers_of_reports_are_refused(count):
    with pytest.raises(ValueError, match="one report, or compares two"):
        page([small()] * count)


def test_without_scripts_there_is_a_summary():
    text = page([small(HOSTILE)])
    summary = text[text.index("<noscript>") : text.index("</noscript>")]
    assert "MatMul" in summary
    assert "&lt;/script&gt;" in summary
    assert issubclass(errors.InvalidArgumentError, errors.OpError)
