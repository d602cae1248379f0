"""The report in a real browser: it opens, shows, searches, folds, complains of nothing, and runs no hostile name.

Skipped, with the reason, where there is no browser; ``make test-browser`` runs these alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from situs._src.report.page import page as page_of
from tests.browser import chrome
from tests.unit.report.made import HOSTILE, OTHERS, large, small

REPORT = "situs.reports[0]"


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("websockets", reason="the package websockets, which speaks to the browser, is not installed")
    path = chrome.find()
    if path is None:
        pytest.skip("no browser: install Chromium, or name one in SITUS_BROWSER")
    opened = chrome.Browser(path)
    yield opened
    opened.close()


@pytest.fixture
def shown(browser, tmp_path):
    """Opens the page of reports; at the end nothing may have been complained of, or loaded."""
    pages = []

    def finish():
        while pages:
            page = pages.pop()
            page.settle()
            assert page.complaints == []
            assert [address for address in page.requests if not address.endswith("/report.html")] == []
            page.close()

    def show(*reports, **screen):
        finish()  # what is behind another page is not painted
        path = Path(tmp_path) / "report.html"
        path.write_text(page_of(reports), encoding="utf-8")
        pages.append(browser.open(path, **screen))
        pages[-1].run("document.documentElement.style.scrollBehavior = 'auto'")
        return pages[-1]

    yield show
    finish()


def box(page, selector):
    """Where an element is on the screen, after it was scrolled to."""
    page.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    page.settle()
    page.run(f"situs.box = document.querySelector({selector!r}).getBoundingClientRect()")
    return page.run("[situs.box.x, situs.box.y, situs.box.width, situs.box.height]")


def test_it_opens_and_shows_every_part(shown):
    page = shown(small())
    assert page.run("document.body.dataset.ready") == "true"
    titles = page.run("[...document.querySelectorAll('main h2')].map(each => each.textContent)")
    assert titles == ["Timeline", "Memory", "Graph", "Ops", "Copies", "Placement", "Traces", "Compiled"]
    text = page.run("document.querySelector('main').textContent")
    for expected in (
        "critical path",
        "GPU:1",
        "8.0 KiB",
        "no MatMul",
        "the first call",
        "compiled region 1",
        "refused",
    ):
        assert expected in text
    assert page.run("document.querySelector('.error').textContent").startswith("It ended with MatMul")
    assert page.run("document.querySelectorAll('.plot canvas').length") == 1


def test_something_is_painted_on_the_timeline(shown):
    page = shown(small())
    page.settle()
    painted = page.run(
        "(() => { const c = document.querySelector('.timeline-canvas canvas');"
        "const d = c.getContext('2d').getImageData(0, 26, c.width, c.height - 26).data; const colours = new Set();"
        "for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 250) colours.add(`${d[i]},${d[i + 1]},${d[i + 2]}`);"
        "return colours.size; })()"
    )
    assert painted >= 4  # two devices, the host, the critical path


def test_hostile_names_are_text_and_run_nothing(shown):
    for name in (HOSTILE, *OTHERS):
        page = shown(small(name, title=name))
        page.run(f"{REPORT}.size && {REPORT}.graphView.showNode(0)")
        page.run(f"situs.showEvent({REPORT}, 0); situs.showIdle({REPORT}, 0)")
        page.settle()
        assert page.run("window.hacked === undefined")
        assert page.run("document.querySelectorAll('img, main svg[onload]').length") == 0
        assert page.run("document.querySelector('h1').textContent") == name
        assert page.run(f"document.querySelector('main').textContent.includes({REPORT}.title)")


def test_the_page_refuses_scripts_that_are_not_its_own(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(
        page_of([small()]).replace("</body>", "<script>window.hacked = 1</script></body>"), encoding="utf-8"
    )
    page = browser.open(path)
    assert page.run("window.hacked === undefined")
    assert any("Content Security Policy" in each for each in page.complaints)
    page.close()


def test_the_timeline_is_searched_and_walked_by_keys(shown):
    page = shown(large(2_000))
    page.key("/")
    assert page.run("document.activeElement.id") == "timeline-search"
    page.type("MatMul_1234")
    assert page.run(f"{REPORT}.timeline.hits.length") == 1
    page.key("Enter")
    assert page.run(f"{REPORT}.label({REPORT}.timeline.selected)").startswith("block_2/layer_4/MatMul_1234")
    low, high = page.run(f"{REPORT}.timeline.view")
    assert low <= 1_234_000 <= high < 2_000_000  # it went there, and nearer
    page.run("document.querySelector('.timeline-canvas canvas').focus()")
    page.key("-")
    wider = page.run(f"{REPORT}.timeline.view[1] - {REPORT}.timeline.view[0]")
    assert wider > high - low
    page.key("+")
    before = page.run(f"{REPORT}.timeline.view[0]")
    page.key("ArrowRight")
    assert page.run(f"{REPORT}.timeline.view[0]") > before
    page.key("ArrowDown")
    assert page.run(f"{REPORT}.label({REPORT}.timeline.selected)").startswith("block_2/layer_4/MatMul_1235")
    page.key("Enter")
    assert "MatMul_1235" in page.run("document.querySelector('#details').textContent")
    page.run("document.querySelector('#details button').focus()")
    page.key("Escape")
    assert page.run("document.querySelector('#details').hidden")


def test_the_wheel_zooms_and_a_click_shows_the_event(shown):
    page = shown(small())
    x, y, wide, _ = box(page, ".timeline-canvas canvas")
    before = page.run(f"{REPORT}.timeline.view[1] - {REPORT}.timeline.view[0]")
    page.run("situs.scrolled = performance.now() + 1e6")  # the page is being scrolled, which goes on
    page.mouse("mouseWheel", x + wide / 2, y + 40, deltaX=0, deltaY=-120)
    page.settle()
    assert page.run(f"{REPORT}.timeline.view[1] - {REPORT}.timeline.view[0]") == before
    page.run("situs.scrolled = undefined")
    x, y, wide, _ = box(page, ".timeline-canvas canvas")
    page.wait_for("performance.now() - (situs.scrolled ?? 0) > 350")
    page.mouse("mouseWheel", x + wide / 2, y + 40, deltaX=0, deltaY=-120)
    page.wait_for(f"{REPORT}.timeline.view[1] - {REPORT}.timeline.view[0] < {before}")
    page.run(f"{REPORT}.timeline.show(0, {REPORT}.end)")
    page.settle()
    lane = page.run(f"{REPORT}.lanes.findIndex(each => each.name === 'GPU:0')")
    at = page.run(f"{REPORT}.timeline.x(5000)")
    page.click(x + at, y + 26 + lane * 24 + 12)
    page.wait_for("!document.querySelector('#details').hidden")
    text = page.run("document.querySelector('#details').textContent")
    for expected in ("float32[32, 32]", "requested: MatMul", "train.py:12", "4.0 KiB", "GPU:0"):
        assert expected in text
    x, y, _, _ = box(page, ".timeline-canvas canvas")  # which made room for the details
    gap = page.run(f"{REPORT}.idle.findIndex(each => each.text.includes('own Python'))")
    lane = page.run(f"{REPORT}.timeline.rows.findIndex(each => each.idle.includes({gap}))")
    at = page.run(f"{REPORT}.timeline.x({REPORT}.idle[{gap}].start + {REPORT}.idle[{gap}].duration / 2)")
    page.mouse("mouseMoved", x + at, y + 26 + lane * 24 + 12)
    page.wait_for("document.querySelector('#tip').textContent.includes('own Python')")


def test_groups_of_the_graph_open_and_close(shown):
    page = shown(large(10_000))
    box(page, "#graph")
    view = f"{REPORT}.graphView"
    closed = page.run(f"{view}.boxes.size")
    assert 2 <= closed <= 48
    group = "document.querySelector('#graph g.group')"
    name = page.run(f"{group}.getAttribute('aria-label')")
    page.run(f"{group}.focus()")
    page.key("Enter")
    assert page.run(f"{view}.boxes.size") > closed
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.key("Enter")
    assert page.run(f"{view}.boxes.size") == closed
    assert page.run("document.activeElement.getAttribute('aria-label')") == name


@pytest.mark.parametrize("scoped", [True, False])
def test_ten_thousand_operations_do_not_freeze_it(shown, scoped):
    page = shown(large(10_000, scoped=scoped))
    view = f"{REPORT}.graphView"
    assert page.run(f"{view}.boxes.size") <= 60
    page.run(f"{view}.show(0, 7777)")
    assert page.run(f"{view}.boxes.has('n7777')")
    assert "MatMul_7777" in page.run("document.querySelector('#details').textContent")
    assert page.run(f"{view}.boxes.size") <= 320
    opened = page.run(
        f"(() => {{ const v = {view}; for (const g of v.tree().root.groups.values()) v.open(g);"
        "return v.boxes.size; })()"
    )
    assert opened <= 320  # however many are opened


def test_tables_sort_and_filter(shown):
    page = shown(large(500))
    rows = "[...document.querySelectorAll('#ops-table tbody tr')].map(each => each.cells[2].textContent)"
    page.run("document.querySelectorAll('#ops-table th button')[2].click()")
    assert page.run("document.querySelectorAll('#ops-table th')[2].getAttribute('aria-sort')") == "ascending"
    assert page.run(f"{rows}[0]") == "model.py:10"
    page.run("document.querySelector('#ops-table input').focus()")
    page.type("model.py:299")
    assert page.run(rows) == ["model.py:299"]
    page.type(" nothing")
    assert page.run("document.querySelector('#ops-table tbody').textContent") == "No matches."


def test_two_reports_are_side_by_side(shown):
    page = shown(small(device="GPU:1", title="before"), small(device="GPU:2", title="after"))
    text = page.run("document.querySelector('#compare').textContent")
    assert "A: before" in text
    assert "B: after" in text
    moved = page.run("[...document.querySelectorAll('#compare-moved tbody tr')].map(each => each.textContent)")
    assert any("layer/Relu" in row and "GPU:1" in row and "GPU:2" in row for row in moved)
    assert page.run("document.querySelector('h1').textContent") == "before"
    page.run("document.querySelectorAll('#which button')[1].click()")
    assert page.run("document.querySelector('h1').textContent") == "after"


def test_two_programs_of_other_file_names_are_compared_line_by_line(shown):
    reports = [small(), small()]
    for report, name in zip(reports, ("before.py", "after.py"), strict=True):
        report["program"]["name"] = name
        for row in report["totals"]:
            row["line"] = f"{name}:{row['line'].rpartition(':')[2]}"
    page = shown(*reports)
    rows = "[...document.querySelectorAll('#compare-ops tbody tr')]"
    calls = page.run(f"{rows}.map(each => [3, 4].map(at => each.cells[at].textContent))")
    assert calls
    assert all(a == b for a, b in calls)


def test_everything_that_can_be_pressed_has_a_name(shown):
    page = shown(small(), small())
    nameless = "each => !each.textContent.trim() && !each.ariaLabel"
    assert page.run(f"[...document.querySelectorAll('button')].filter({nameless}).length") == 0
    timelines = page.run("[...document.querySelectorAll('canvas[role=application]')].map(each => each.ariaLabel)")
    assert len(set(timelines)) == len(timelines)


def test_what_is_very_long_is_cut(shown):
    data = small()
    data["program"]["error"]["message"] = "x" * 3_000
    data["idle"][0]["text"] = "y" * 3_000
    page = shown(data)
    assert page.run("document.querySelector('.error').firstChild.nextSibling.textContent.length") <= 401
    assert page.run("Math.max(...[...document.querySelectorAll('td')].map(each => each.textContent.length))") < 200


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_it_fits_a_phone_and_the_dark(shown, width, dark):
    page = shown(small(), width=width, height=844, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    paper = page.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 120) == dark


def test_long_names_and_many_workers_fit_a_phone(shown):
    data = small(title="a_scope_with_a_name/" * 12)
    data["graphs"][0]["reductions"] = ["12 values reduced at gradients/sequential_1/dense_1/AddN on GPU:0: 17416 bytes"]
    data["lanes"][-1]["name"] = "worker 12 GPU:1 · other threads of the program"
    page = shown(data, width=390, height=844)
    assert page.run("document.documentElement.scrollWidth") <= 390
    cut = page.run(
        "[...document.querySelectorAll('.lane span:last-child')].filter(each => each.scrollWidth > each.clientWidth"
        " && getComputedStyle(each).textOverflow !== 'ellipsis').length"
    )
    assert cut == 0


def test_a_table_without_rows_is_one_sentence(shown):
    data = small()
    data["placements"] = []
    page = shown(data)
    assert page.run("document.querySelector('#placement-table tbody').innerText").startswith("Every op ran where")
    assert page.run("document.querySelector('#placement-table thead').hidden")
    assert not page.run("document.querySelector('#ops-table thead').hidden")


def test_a_screen_reader_finds_names_for_what_it_can_use(shown):
    page = shown(small())
    unnamed = page.run(
        "[...document.querySelectorAll('button, input, select, canvas[tabindex], [role=button], [role=region]')]"
        ".filter(each => !(each.getAttribute('aria-label') || each.textContent.trim() || each.closest('label')))"
        ".map(each => each.outerHTML)"
    )
    assert unnamed == []
    assert page.run("document.querySelectorAll('h1').length") == 1
    assert page.run("[...document.querySelectorAll('table')].every(each => each.caption && each.tHead)")
    page.run("document.activeElement.blur()")
    page.key("Tab")
    assert page.run("document.activeElement.className") == "skip"


def test_data_that_cannot_be_shown_are_said_to_be(browser, tmp_path):
    path = tmp_path / "report.html"
    text = page_of([small()])
    start, end = text.index("data-report>") + len("data-report>"), text.index("</script>", text.index("data-report>"))
    path.write_text(text[:start] + '{"schema": "other"}' + text[end:], encoding="utf-8")
    page = browser.open(path)
    assert page.run("document.querySelector('[role=alert]').textContent").startswith("The report cannot be shown")
    page.close()
