"""Builds the site: ``python -m scripts.build_site build/site``, which is what ``make docs`` does.

    README.md, docs/, benchmarks/*.md, ...  --+
    what the code exports (reference.py)    --+-->  a folder of sources  -->  Sphinx  -->  HTML that needs no server
    benchmark results (charts.py)           --+

The pages lie in the folder of sources as they lie in the repository, so that links between them lead to the same places
in both. Every page has its place in `PLACES`; one without is an error, and so is every warning. The site can be opened
and searched from its files, without a server and without a network.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from scripts.build_site import charts, reference

ROOT = Path(__file__).resolve().parent.parent.parent
# The order of the pages: what a newcomer needs first, then tasks, then what is looked up.
PLACES = {
    "Begin": (
        "docs/getting-started",
        "docs/questions",
        "docs/coming-from-tensorflow",
        "docs/notebooks",
        "docs/command-line",
        "docs/glossary",
    ),
    "Where computation happens": (
        "docs/devices",
        "docs/placement",
        "docs/dynamic-placer",
        "docs/place",
        "docs/memory",
        "docs/report",
        "docs/graphs",
        "docs/compiling",
    ),
    "Training": (
        "docs/training",
        "docs/layers",
        "docs/data",
        "docs/random",
        "docs/checkpoints",
        "docs/summaries",
        "docs/monitored",
        "docs/distribute",
    ),
    "Look up": (
        "reference/index",
        "docs/errors",
        "docs/settings",
        "benchmarks/RESULTS",
        "benchmarks/RESULTS-H200",
        "benchmarks/NOTES",
        "docs/reliability",
        "CHANGELOG",
    ),
    "Inside": ("docs/architecture", "docs/extending", "docs/decisions/README", "CONTRIBUTING", "SECURITY"),
}
SETTINGS = {
    "project": "Situs",
    "html_title": "Situs",
    "html_theme": "furo",
    "extensions": ["myst_parser"],
    "myst_heading_anchors": 4,
    "html_show_sphinx": False,
    "html_copy_source": False,
    "python_display_short_literal_types": True,
    "toc_object_entries": False,
    "highlight_language": "none",
    "html_search_scorer": str(Path(__file__).with_name("scorer.js")),
    "html_use_index": False,
    "html_domain_indices": False,
}


def gather(folder: Path) -> None:
    """Lays out the sources of the site in a folder.

    Raises:
        SystemExit: a page has no place in the order, or the order names one that is not there.
    """
    for pattern in ("*.md", "benchmarks/*.md", "docs/**/*.md", "docs/**/*.svg", "docs/**/*.png"):
        for file in ROOT.glob(pattern):
            target = folder / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    (folder / "examples").mkdir()
    for extra in (ROOT / "LICENSE", *ROOT.glob("examples/*.py")):  # pages link to these files themselves
        shutil.copyfile(extra, folder / extra.relative_to(ROOT))
    reference.write(folder / "reference")
    for results in (folder / "benchmarks").glob("RESULTS*.md"):
        page, pictures = charts.with_charts(results.read_text(), results.stem)
        results.write_text(page)
        for name, picture in pictures.items():
            (results.parent / name).write_text(picture)
    (folder / "README.md").rename(folder / "index.md")
    _order(folder)


def _order(folder: Path) -> None:
    """Puts the table of contents into the first page."""
    placed = {page for pages in PLACES.values() for page in pages}
    pages = {file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.md")} - {"index"}
    pages = {page for page in pages if not page.startswith("docs/decisions/0")} | {"reference/index"}
    if pages != placed:
        lost, gone = ", ".join(sorted(pages - placed)), ", ".join(sorted(placed - pages))
        sys.exit(f"PLACES in {Path(__file__).name} is not what there is: pages without a place: {lost}; gone: {gone}.")
    with (folder / "index.md").open("a") as first:
        for caption, group in PLACES.items():
            first.write("\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *group, "```", ""]))
    for record in (folder / "docs/decisions").glob("0*.md"):  # reached from the page that lists them
        record.write_text(f"---\norphan: true\n---\n{record.read_text()}")


def build(target: Path) -> None:
    """Builds the site into a folder.

    Raises:
        SystemExit: Sphinx has something to say: a warning counts as an error.
    """
    from sphinx.application import Sphinx

    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        sources, cache = Path(scratch) / "sources", Path(scratch) / "cache"
        sources.mkdir()
        gather(sources)
        app = Sphinx(
            str(sources),
            None,
            str(target),
            str(cache),
            "html",
            SETTINGS,
            status=None,
            warningiserror=True,
            freshenv=True,
        )
        app.build()
        if app.statuscode:
            sys.exit("The site has warnings, which are above.")


def main() -> None:
    """Builds the site where the command line says."""
    parser = argparse.ArgumentParser(prog="python -m scripts.build_site", description="Builds the site.")
    parser.add_argument("target", type=Path, help="the folder to write it to")
    target = parser.parse_args().target
    build(target)
    print(f"{target / 'index.html'}")


if __name__ == "__main__":
    main()
