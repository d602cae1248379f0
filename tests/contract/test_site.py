"""The site is built without a warning, and its search finds what newcomers ask for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote_plus

import pytest

pytest.importorskip("sphinx", reason="the site is built with the packages of the extra 'dev'")
pytest.importorskip("furo", reason="the site is built with the packages of the extra 'dev'")

from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).parent.parent.parent
QUESTIONS = {
    "out of memory": "docs/memory",
    "which device": "docs/placement",
    "pin an op": "docs/questions",
    "two GPUs": "docs/graphs",
    "how do I train on multiple GPUs": "docs/questions",
    "why is my function retracing": "docs/questions",
    "run on the CPU only": "docs/questions",
    "convert a TensorFlow model": "docs/questions",
    "mixed precision": "docs/questions",
    "install CUDA": "docs/questions",
    "debug NaN": "docs/questions",
    "profile my program": "docs/questions",
    "custom op": "docs/questions",
    "jupyter notebook": "docs/questions",
    "save a model": "docs/questions",
    "run a TensorFlow 1 program": "docs/coming-from-tensorflow",
    "checkpoint": "docs/checkpoints",
    "random seed": "docs/random",
    "placement log": "docs/placement",
    "virtual GPU": "docs/devices",
    "slow first step": "docs/questions",
    "TF_CONFIG": "docs/distribute",
    "matmul": "reference/tf",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site; building fails on a warning."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "scripts.build_site", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def index(site):
    """What the search looks things up in."""
    text = (site / "searchindex.js").read_text()
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


def pages_with(index, question: str) -> set[str]:
    """The pages that have every word of a question, as the search in the browser wants it."""
    language = SearchEnglish({})
    found: set[str] | None = None
    for word in re.findall(r"\w+", question.lower()):
        if word in language.stopwords or word.isdigit():  # which the browser leaves out as well
            continue
        stem = language.stem(word)
        here: set[str] = set()
        for table in (index["terms"], index["titleterms"]):
            for term in (stem, word):
                numbers = table.get(term, [])
                here |= {index["docnames"][n] for n in ([numbers] if isinstance(numbers, int) else numbers)}
        found = here if found is None else found & here
    return found or set()


@pytest.mark.parametrize(("question", "page"), QUESTIONS.items(), ids=lambda text: text)
def test_a_question_finds_its_page(index, question, page):
    assert page in pages_with(index, question)


def test_a_question_that_nobody_answers_finds_nothing(index):
    assert pages_with(index, "quaternion teapot") == set()


def test_every_page_of_docs_is_in_the_site(site):
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert (site / page.relative_to(ROOT).with_suffix(".html")).exists()


def test_the_reference_says_how_a_name_compares(site):
    page = (site / "reference" / "tf.html").read_text()
    entry = page[page.index('id="tf.sort"') :][:3000]
    assert "NaN counts as the largest" in entry
    assert "TFLiteConverter" not in page
    assert "tf.lite" in (site / "reference" / "absent.html").read_text()
    assert "placeholder" in (site / "reference" / "v1" / "tf.html").read_text()


def test_benchmarks_have_graphs(site):
    assert "RESULTS-session.svg" in (site / "benchmarks" / "RESULTS.html").read_text()


def test_no_page_asks_the_network_for_anything(site):
    for page in site.rglob("*.html"):
        wanted = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text())
        assert wanted == [], page


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no chromium on this machine")
@pytest.mark.parametrize("question", ["out of memory", "slow first step"])
def test_a_browser_searches_the_site_from_its_files(site, tmp_path, question):
    address = f"{(site / 'search.html').as_uri()}?q={quote_plus(question)}"
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=20000",
        f"--user-data-dir={tmp_path}",
    ]
    done = subprocess.run(["chromium", *flags, "--dump-dom", address], capture_output=True, text=True, check=True)
    found = re.findall(r'<li[^>]*><a href="([^"?#]+)', done.stdout[done.stdout.index("search-results") :])
    assert "docs/questions.html" in found[:3]
