"""Feedback for a rehearsal class and the report on it, in a browser: both widths and themes."""

from pathlib import Path

import pytest

from attnkit.grading import batch, confine, demo_course, feedback, judge
from attnkit.grading.graded import GradedCourse
from attnkit.grading.report import report

from .test_pages import AUDIT, AXE

ROOT = Path(__file__).parents[2]
ASSIGNMENT = "soft_attention"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The files of a small class, hostile answers among them."""
    if confine.missing():
        pytest.skip(f"needs {', '.join(confine.missing())}")
    folder = tmp_path_factory.mktemp("class")
    demo_course.make(folder, ROOT, 9, assignments=[ASSIGNMENT])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "STEP", 1.0)  # endless loops end sooner
        batch.grade(folder, ASSIGNMENT, jobs=2)
    course = GradedCourse(folder)
    (folder / "report.html").write_text(report(course, ASSIGNMENT).html(), encoding="utf-8")
    return [folder / "report.html", *feedback.write_all(course, ASSIGNMENT)]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_ask_nobody_fit_and_are_accessible(pages, browser, width, theme):
    faults = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    page.on("request", lambda r: None if r.url.startswith("file:") else faults.append(r.url))
    page.on("console", lambda message: faults.append(message.text))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    for file in pages:
        page.goto(file.as_uri())
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wider > 0:
            faults.append(f"{file}: {wider} px wider than the screen")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        faults += [(file, fault) for fault in page.evaluate(AUDIT)]
    context.close()
    assert not faults, "\n".join(map(str, faults))


def test_dark_pages_are_printed_on_white(pages, browser):
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(pages[1].as_uri())
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) != "rgb(255, 255, 255)"
    page.emulate_media(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    context.close()
