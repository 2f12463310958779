"""Exercises on the built page: from a wrong answer to a right one, kept, handed on, recorded."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnkit.exercises import all_exercises, find

from .test_pages import AUDIT, AXE

NAME = "soft_attention.softmax"
IN_PAGE = sum(exercise.backend == "numpy" for exercise in all_exercises())
SOLVED = f"{{}} of {IN_PAGE} exercises solved"
WRONG = """\
def softmax(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""
RIGHT = WRONG.replace("scores)", "scores - scores.max(axis=axis, keepdims=True))", 1)
ENDLESS = "while True:\n    pass\n"
EDITOR = "**/editor.js"
MISTAKE = "takes the exponential of the raw scores"


@pytest.fixture
def numpy_there(book):
    if not (book / "_static" / "pyodide").exists():
        pytest.skip("numpy for the browser could not be had: set PYODIDE_WHEELS to its folder.")


runs_python = pytest.mark.usefixtures("numpy_there")


@pytest.fixture
def context(browser, site):
    """A reader's browser, new: it asks no other host, and must have no fault to tell."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        faults, home = [], re.compile(rf"{site}|blob:|data:|file:")
        context.on("request", lambda r: home.match(r.url) or faults.append(r.url))
        context.on("console", lambda m: m.type == "error" and faults.append(m.text))
        context.on("weberror", lambda e: faults.append(str(e.error)))
        context.set_default_timeout(20_000)
        yield context
        assert faults == []


@pytest.fixture
def page(context, site):
    page = context.new_page()
    page.goto(f"{site}/chapters/soft_attention.html")
    return page


def desk(page, name=NAME):
    """An exercise's box, when the editor has come."""
    box = page.locator(f"#exercise-{name.replace('.', '-')}")
    box.locator("label").scroll_into_view_if_needed()
    box.locator(".cm-content").wait_for()
    return box


def without_editor(context):
    """Until it is unrouted, the text area is all there is."""
    stub = {"content_type": "text/javascript", "body": "export const upgrade = () => {}"}
    context.route(EDITOR, lambda route: route.fulfill(**stub))


def write(box, text):
    editor = box.get_by_role("textbox")
    editor.press("Control+a")
    box.page.keyboard.insert_text(text)


def run(box):
    """Press the button and wait for what is said in the end."""
    box.get_by_role("button", name="Run and check").click()
    verdict = box.get_by_role("status")
    verdict.locator("section, p:not(:has-text('…'))").first.wait_for(timeout=60_000)
    return verdict


@runs_python
def test_from_wrong_through_a_hint_to_right(page, site):
    box = desk(page)
    chapter = page.locator(".bd-sidebar-primary li", has_text="Soft attention")
    count = chapter.locator(".progress-count")
    assert count.text_content() == " 0/5 solved"
    write(box, WRONG)
    assert MISTAKE in run(box).inner_text()
    tips = box.locator(".exercise-tips details")
    assert not any(tip.is_visible() for tip in tips.all())
    for step in range(3):
        box.get_by_role("button", name="Hint").click()
        assert [tip.is_visible() for tip in tips.all()] == [i <= step for i in range(3)]
    write(box, RIGHT)
    assert "✓" in run(box).inner_text()
    assert count.text_content() == " 1/5 solved"

    page.goto(f"{site}/index.html")
    assert page.locator(".progress-sum").text_content() == SOLVED.format(1)
    (mark,) = page.locator(".progress-mark", has_text="✓ solved").all()
    assert "A softmax that never overflows" in mark.locator("..").text_content()


@runs_python
def test_the_notebook_with_the_answers_gets_the_same_verdict(page, tmp_path):
    box = desk(page)
    write(box, WRONG)
    assert MISTAKE in run(box).inner_text()
    other = desk(page, "soft_attention.multiplicative_scores")
    write(other, "def multiplicative_scores(Q, K, W=None, scale=1.0):\n    return 1 / 0\n")
    assert "raised ZeroDivisionError" in run(other).inner_text()
    page.reload()
    box = desk(page)
    with page.expect_download() as download:
        box.get_by_role("link", name="Download as notebook").click()
    assert download.value.suggested_filename == "soft_attention.ipynb"
    path = tmp_path / "soft_attention.ipynb"
    download.value.save_as(path)
    checked = subprocess.run(
        [Path(sys.executable).parent / "attnkit", "check", "--json", path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    verdicts = {verdict["exercise"]: verdict for verdict in json.loads(checked.stdout)}
    assert verdicts.pop(NAME)["misconceptions"] == [MISTAKE]
    assert verdicts.pop("soft_attention.multiplicative_scores")["kind"] == "raised"
    assert {verdict["kind"] for verdict in verdicts.values()} == {"unfinished"}


def test_an_answer_survives_a_reload_and_reset_asks_first(page):
    box = desk(page)
    starter = box.locator("textarea").input_value()
    write(box, RIGHT)
    page.reload()
    box = desk(page)
    assert box.locator("textarea").input_value() == RIGHT
    reset = box.get_by_role("button", name="Reset")
    page.once("dialog", lambda dialog: dialog.dismiss())
    reset.click()
    assert box.locator("textarea").input_value() == RIGHT
    page.once("dialog", lambda dialog: dialog.accept())
    reset.click()
    assert box.locator("textarea").input_value() == starter
    assert "raise NotImplementedError" in box.get_by_role("textbox").inner_text()
    page.reload()
    assert desk(page).locator("textarea").input_value() == starter


@runs_python
def test_an_endless_loop_is_ended_and_the_next_run_works(page):
    box = desk(page)
    write(box, ENDLESS)
    assert "ran for 10 seconds and was stopped" in run(box).inner_text()
    write(box, RIGHT)
    assert "✓" in run(box).inner_text()


@runs_python
def test_by_keyboard_alone_with_the_text_area_alone(page, context):
    """Without the editor: Tab reaches everything in turn, and Tab leaves the text."""
    without_editor(context)
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    box = page.locator("#exercise-soft_attention-softmax")
    area = box.get_by_role("textbox")
    area.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(WRONG)
    for name in ("Run and check", "Hint", "Reset", "Download as notebook"):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        assert focused.inner_text() == name
        assert focused.evaluate("e => getComputedStyle(e).outlineStyle") != "none"
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    verdict = box.get_by_role("status")
    verdict.locator("section").wait_for(timeout=60_000)
    assert MISTAKE in verdict.inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert box.locator(".exercise-tips details").first.is_visible()


def test_tab_leaves_the_editor(page):
    box = desk(page)
    editor = box.get_by_role("textbox")
    assert editor.get_attribute("aria-label") == "Your answer to exercise 3.1"
    editor.focus()
    outline = "e => getComputedStyle(e.closest('.cm-editor')).outlineStyle"
    assert editor.evaluate(outline) == "solid"
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Run and check"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert not editor.evaluate("e => e === document.activeElement")


@runs_python
@pytest.mark.parametrize("width", [1280, 390])
def test_verdicts_are_accessible_and_fit(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    box = desk(page)
    write(box, f"# a remark\nprint('x' * 300, True)\n{WRONG}")
    assert MISTAKE in run(box).inner_text()
    box.get_by_role("button", name="Hint").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text(encoding="utf-8"))
    audit = AUDIT.replace("axe.run(", "axe.run('#exercise-soft_attention-softmax', ")
    for theme in "light", "dark":
        page.emulate_media(color_scheme=theme)
        assert page.evaluate(audit) == []


def test_nothing_jumps_when_the_editor_comes(page, context):
    without_editor(context)
    page.reload()
    height = page.locator("#exercise-soft_attention-softmax textarea").bounding_box()["height"]
    context.unroute(EDITOR)
    page.reload()
    assert desk(page).locator(".cm-editor").bounding_box()["height"] == height


def test_python_is_not_loaded_before_the_first_run(page, book):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload(wait_until="networkidle")
    desk(page)
    assert not [url for url in asked if re.search("pyodide|worker", url)]
    scripts = [book / "_static" / "exercise" / "exercise.js", book / "_static" / "progress.js"]
    assert sum(len(gzip.compress(script.read_bytes())) for script in scripts) < 15_000


@runs_python
def test_a_file_that_cannot_be_loaded_is_told_and_the_next_run_tries_again(browser, site, book):
    with browser.new_context() as context:  # its console does tell of the failed request
        page = context.new_page()
        page.goto(f"{site}/chapters/soft_attention.html")
        context.route("**/numpy-*.whl", lambda route: route.abort())
        box = desk(page)
        write(box, RIGHT)
        assert "Python could not be loaded" in run(box).inner_text()
        context.unroute("**/numpy-*.whl")
        assert "✓" in run(box).inner_text()


def test_a_book_built_without_numpy_says_so(page, context, book):
    script = (book / "_static" / "exercise" / "exercise.js").read_text(encoding="utf-8")
    without = re.sub(r"size:\d+", "size:0", script)
    assert without != script
    context.route("**/exercise.js*", lambda route: route.fulfill(body=without))
    page.reload()
    said = run(desk(page)).inner_text()
    assert "numpy for the browser was missing" in said
    assert "Download the notebook" in said


def test_a_page_opened_as_a_file_says_what_cannot_run(context, book):
    page = context.new_page()
    page.goto((book / "chapters" / "soft_attention.html").as_uri())
    box = page.locator("#exercise-soft_attention-softmax")
    assert "opened as a file" in run(box).inner_text()
    assert box.get_by_role("textbox").is_visible()


def test_progress_goes_into_a_file_and_comes_back(page, site, context, browser, tmp_path):
    page.evaluate(
        "name => document.dispatchEvent(new CustomEvent('solved', { detail: name }))", NAME
    )
    page.goto(f"{site}/index.html")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save progress").click()
    path = tmp_path / "progress.json"
    download.value.save_as(path)
    assert list(json.loads(path.read_text())["solved"]) == [NAME]

    def add(file):
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Add progress").click()
        chooser.value.set_files(file)
        said = page.locator(".progress-said")
        said.filter(has_text=re.compile("record")).wait_for()
        return said.inner_text()

    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"cells": []}')
    assert add(foreign).startswith("foreign.json holds no progress of this book")
    assert page.locator(".progress-sum").text_content() == SOLVED.format(1)
    record = {"format": "attention-book progress", "version": 1}
    record["solved"] = {"notation.attention_cols": "2026-02-03"}
    path.write_text(json.dumps(record))
    assert "1 solved" in add(path)
    assert page.locator(".progress-sum").text_content() == SOLVED.format(2)


def test_the_exercise_of_each_chapter_is_there(page, site):
    page.goto(f"{site}/chapters/notation.html")
    box = desk(page, "notation.attention_cols")
    assert find("notation.attention_cols").given.splitlines()[0] in box.inner_text()
