"""README and docs are executed: every Python block runs, every output block is what it prints.

The blocks of one page run in order in one process. A ``text`` block right after a ``python`` block
is compared with what that block printed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import situs
import situs.compat.v1

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
MARK = "=====block====="


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page with their language; prose between two of them is left out."""
    return FENCE.findall(page.read_text() + "\n")


def expected_outputs(page: Path) -> list[str | None]:
    """For each Python block, the text block that follows it directly, if any."""
    pairs = FENCE.split(page.read_text() + "\n")[1:]  # language, code, prose, language, code, prose, ...
    found: list[str | None] = []
    for i in range(0, len(pairs), 3):
        if pairs[i] != "python":
            continue
        follows = i + 3 < len(pairs) and pairs[i + 3] == "text" and not pairs[i + 2].strip()
        found.append(pairs[i + 4] if follows else None)
    return found


def with_python(pages):
    return [page for page in pages if any(language == "python" for language, _ in blocks(page))]


@pytest.mark.parametrize("page", with_python(PAGES), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page, run_python):
    codes = [code for language, code in blocks(page) if language == "python"]
    program = "".join(f"{code}\nprint({MARK!r}, flush=True)\n" for code in codes)
    outputs = run_python(program).split(f"{MARK}\n")
    for code, output, expected in zip(codes, outputs, expected_outputs(page), strict=False):
        if expected is not None:
            assert output.rstrip() == expected.rstrip(), f"after:\n{code}"


def test_the_readme_shows_code_with_its_output():
    assert sum(text is not None for text in expected_outputs(ROOT / "README.md")) >= 2


def test_the_readme_stays_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


OTHER_PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "benchmarks/NOTES.md")]


@pytest.mark.parametrize("page", [*PAGES, *OTHER_PAGES], ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


# Said to be absent, or to stand for others.
NOT_NAMES = {
    *("compat.v1.wrap_function", "estimator", "compat.v1.some_op", "image.random_"),
    *("image.stateless_random_", "random.learned_unigram_candidate_sampler"),
    "python.client.device_lib.list_local_devices",  # which is imported
}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_names_in_pages_are_public(page):
    prose = FENCE.sub("", page.read_text() + "\n")
    names = {name for code in re.findall(r"`([^`\n]+)`", prose) for name in re.findall(r"\btf\.((?:\w+\.)*\w+)", code)}
    assert sorted(name for name in names - NOT_NAMES if not is_public(name)) == []


def is_public(name: str) -> bool:
    """Whether a name leads to something in one of the dialects."""
    for dialect in (situs, situs.compat.v1):
        value: object = dialect
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is not None:
            return True
    return False


def test_every_folder_of_the_engine_is_on_the_map():
    text = (ROOT / "docs/architecture.md").read_text()
    folders = [path.name for path in (ROOT / "situs/_src").iterdir() if (path / "__init__.py").exists()]
    assert [name for name in folders if f"`{name}/" not in text] == []


RECORDS = sorted((ROOT / "docs/decisions").glob("0*.md"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda p: p.stem)
def test_a_decision_record_has_its_parts(record):
    title, _, date, *rest = record.read_text().splitlines()
    assert re.match(rf"# {int(record.name[:4])}\. ", title)
    assert re.match(r"\d{4}-\d\d-\d\d,.*\b(proposed|accepted|replaced by)\b", date)
    assert any(line.startswith("**Alternatives.**") for line in rest)
    assert f"{title[2:].replace('. ', '. [', 1)}]({record.name})" in (record.parent / "README.md").read_text()


def test_decision_records_are_numbered():
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))
