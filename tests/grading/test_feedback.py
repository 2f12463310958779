"""What learners get back: everything of theirs as text, nothing hidden, and the teacher's word."""

import base64
import os
import re
from html.parser import HTMLParser

import nbformat
import pytest
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from attnkit.cli import main
from attnkit.exercises import find
from attnkit.grading import batch, confine, feedback, pages
from attnkit.grading.graded import Book, GradedCourse
from attnkit.grading.hostile import filled, right
from tests.course import Course

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

ASSIGNMENT = "soft_attention"
ADDRESS = "https://book.example/attention"
ATTACK = """<script>alert(1)</script><img src="https://evil.example/x.png" onerror="alert(1)">
![picture](https://evil.example/y.png) [link](javascript:alert(1)) <https://evil.example/z>
<svg onload=alert(1)> [a]

[a]: https://evil.example/reference
"""
PRINTS = f"print('\\x1b[31m' + {ATTACK!r} + '\\x07\\u202e')\nprint('y' * 50_000)\n"
RAISES = f"def additive_scores(Q, K, W_q, W_k, v):\n    raise ValueError({ATTACK!r})"
HANDED_IN = {
    "right": {},
    "mistaken": {"softmax": "def softmax(scores, axis=-1):\n    return np.exp(scores)"},
    "hostile": {
        "softmax": PRINTS + right(ASSIGNMENT)["softmax"],
        "additive_scores": RAISES,
        "saturation_in_words": ATTACK,
    },
}


def sly(seed):
    """Right on all but the hidden cases, which it knows by a number that tells nothing of them."""
    marks = [_mark(case["scores"]) for case in _cases(seed)]
    return (
        f"{right(ASSIGNMENT)['softmax_jacobian']}\nright = softmax_jacobian\n"
        "def softmax_jacobian(scores):\n"
        f"    hidden = int(scores.flat[0] * 1e6) * 7919 % 1000003 in {marks}\n"
        "    return right(scores) + hidden\n"
    )


def _mark(scores):
    return int(scores.flat[0] * 1e6) * 7919 % 1000003


def _cases(seed):
    exercise = find("soft_attention.softmax_jacobian")
    return [exercise.arguments(index, seed) for index in range(len(exercise.cases))]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A graded course: one written answer is marked, one learner was late, one file is broken."""
    made = Course(tmp_path_factory.mktemp("course"), ASSIGNMENT)
    settings = made.folder / "nbgrader_config.py"
    text = settings.read_text().replace('c.Book.address = ""', f'c.Book.address = "{ADDRESS}/"')
    settings.write_text(text)
    for learner, answers in HANDED_IN.items():
        made.hand_in(learner, filled(ASSIGNMENT, right(ASSIGNMENT) | answers))
    seed = int((made.folder / ".course_seed").read_text(), 16)
    answers = right(ASSIGNMENT) | {"softmax_jacobian": sly(seed)}
    made.hand_in("sly", filled(ASSIGNMENT, answers))
    made.hand_in("broken", b"[")
    batch.grade(made.folder, ASSIGNMENT, jobs=2)
    course = GradedCourse(made.folder)
    with course.submissions(ASSIGNMENT) as (gradebook, submissions):
        (notebook,) = submissions["mistaken"].notebooks
        notebook.late_submission_penalty = 2
        (grade,) = (g for g in notebook.grades if g.name == "saturation_in_words")
        grade.manual_score, grade.needs_manual_grade = 2.5, False
        for comment in notebook.comments:
            if comment.name in ("saturation_in_words", "softmax"):
                comment.manual_comment = f"**Look** at {comment.name}. {ATTACK}"
        gradebook.db.commit()
    list(feedback.write_all(course, ASSIGNMENT))
    return course


def page(course, learner):
    place = course.path(course.dirs.feedback_directory, ASSIGNMENT, learner)
    return (place / f"{ASSIGNMENT}.html").read_text("utf-8")


class Markup(HTMLParser):
    """The tags of a page, the addresses in it, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.handlers, self.text = set(), set(), [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src", "srcset", "action", "data", "poster"):
                self.links.add(value)
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("learner", [*HANDED_IN, "sly", "broken"])
def test_nothing_of_a_learners_is_markup(course, learner):
    markup = Markup(page(course, learner))
    assert not markup.tags & {"script", "img", "svg", "iframe", "link", "object", "form", "base"}
    assert not markup.handlers
    assert all(link.startswith(("#", f"{ADDRESS}/chapters/")) for link in markup.links)


def test_what_was_meant_as_an_attack_is_shown_as_text(course):
    text = Markup(page(course, "hostile")).text
    assert text.count("<script>alert(1)</script>") >= 3
    assert "… and 45," in text
    assert not re.search("[\x1b\x07\u202e]", text)


def test_nothing_may_be_loaded_or_run(course):
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page(course, "right")


def test_the_sum_and_each_mark_stand_there(course):
    text = Markup(page(course, "right")).text
    assert "22 of 26 points" in text
    assert "4 of these points are not given yet" in text
    assert "waits for your teacher" in text
    assert text.count("4 of 4") == 6  # three exercises, in the list and at their place
    assert "Go back to" not in text


def test_the_mistake_and_the_section_to_reread_are_named(course):
    html = page(course, "mistaken")
    text = re.sub(r"\s+", " ", Markup(html).text)
    assert "Go back to Soft attention: Normalise: the softmax." in text
    assert f"{ADDRESS}/chapters/soft_attention.html#soft-softmax" in html
    assert f"{ADDRESS}/chapters/soft_attention.html#soft-additive" not in html


def test_without_an_address_the_section_is_text(course):
    with course.submissions(ASSIGNMENT) as (_, submissions):
        (graded,) = submissions["mistaken"].notebooks
        notebook = course.autograded("mistaken", ASSIGNMENT, ASSIGNMENT)
        text = feedback.page(notebook, graded, Book())
    assert "<em>Soft attention: Normalise: the softmax</em>" in text


def test_the_teachers_marks_comments_and_penalty_are_there(course):
    html = page(course, "mistaken")
    text = re.sub(r"\s+", " ", Markup(html).text)
    assert "2.5 of 4" in text
    assert "not given yet" not in text
    assert "18.5 of 26 points" in text  # 18 for the checks, 2.5 for the answer, 2 off
    assert "2 points were taken off" in text
    assert html.count("Your teacher's comment") + html.count("Your teacher&#39;s comment") == 2
    assert "<strong>Look</strong> at softmax." in html


def test_a_regrade_keeps_the_teachers_mark_on_the_page(course):
    with course.submissions(ASSIGNMENT) as (_, submissions):
        (graded,) = submissions["mistaken"].notebooks
        for grade in graded.grades:
            grade.needs_manual_grade = True  # as nbgrader sets it when it grades once more
        notebook = course.autograded("mistaken", ASSIGNMENT, ASSIGNMENT)
        assert "2.5 of 4" in feedback.page(notebook, graded, course.book)


def test_what_was_left_empty_is_not_called_marked(course):
    text = re.sub(r"\s+", " ", Markup(page(course, "broken")).text)
    assert "left empty 0 of 4" in text
    assert "No response" not in text
    assert "marked 2.5 of 4" in re.sub(r"\s+", " ", Markup(page(course, "mistaken")).text)


def test_a_file_that_could_not_be_read_is_named(course):
    assert "What was handed in could not be read" in Markup(page(course, "broken")).text
    assert "could not be read" not in page(course, "right")


def test_no_number_of_a_hidden_case_is_shown(course):
    seed = int(os.environ["ATTNKIT_SEED"], 16)
    drawn = [value for case in _cases(seed) for value in case["scores"].ravel()]
    hidden = {f"{abs(value):.4f}"[:6] for value in drawn} - {"0.0000"}
    html = page(course, "sly")
    assert "0 of 5 points" in html
    assert "the values differ from the wanted ones" in html
    shown = set(re.findall(r"\d+\.\d{4}", Markup(html).text))
    assert len(hidden) > 20
    assert not hidden & {number[:6] for number in shown}
    assert "hidden=True" not in html


def test_no_solution_and_no_marking_scheme_is_shown(course):
    html = page(course, "broken")
    assert "Marking scheme" not in html
    assert "BEGIN" not in html


def test_nbgrader_writes_the_same_pages(course):
    """Both ways: the command, and what the formgrader's button calls."""
    wanted = page(course, "hostile")
    folder = course.path(course.dirs.feedback_directory, ASSIGNMENT, "hostile")
    for write in (_by_command, _by_button):
        (folder / f"{ASSIGNMENT}.html").unlink()
        write(course)
        assert page(course, "hostile") == wanted


def _by_command(course):
    place = object.__new__(Course)
    place.folder = course.folder
    place.nbgrader("generate_feedback", ASSIGNMENT, "--student", "hostile", "--force")


def _by_button(course):
    config = course.app.config
    api = NbGraderAPI(CourseDirectory(config=config, root=str(course.folder)), config=config)
    done = api.generate_feedback(ASSIGNMENT, "hostile", force=True)
    assert done["success"], done.get("log")


def test_the_command(course, capsys):
    place = ["--course", str(course.folder)]
    assert main(["feedback", ASSIGNMENT, *place]) == 0
    assert capsys.readouterr().out.startswith("5 pages")
    assert main(["feedback", ASSIGNMENT, "--student", "right", *place]) == 0
    assert capsys.readouterr().out.startswith("1 pages")
    assert main(["feedback", ASSIGNMENT, "--student", "nobody", *place]) == 2
    assert "nobody" in capsys.readouterr().err


# ------------------------------------------------------------------ the parts


def test_a_picture_is_shown_only_if_it_is_one():
    png = base64.b64encode(pages.PNG + b"...").decode()
    svg = base64.b64encode(b"<svg onload=alert(1)>").decode()
    for data, is_picture in ((png, True), (svg, False), ('" onerror="x', False), (3, False)):
        bundle = {"image/png": data, "text/plain": "<Figure>"}
        output = {"output_type": "display_data", "data": bundle}
        (shown,) = pages.outputs({"outputs": [output]})
        assert (shown.picture == data) is is_picture
        assert (shown.text == "<Figure>") is not is_picture


def test_html_and_svg_outputs_are_left_out():
    data = {"text/html": "<script>", "image/svg+xml": "<svg>", "application/javascript": "alert(1)"}
    output = nbformat.v4.new_output("display_data", data)
    assert list(pages.outputs({"outputs": [output]})) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x07link\x1b]8;;\x07", "link"),
        ("a\rb\x00c\x9bd", "abcd"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\u202egnp.exe", "gnp.exe"),
        (["two\n", "lines"], "two\nlines"),
    ],
)
def test_text_is_plain(text, shown):
    assert pages.plain(text) == shown


@pytest.mark.parametrize("address", ["javascript:alert(1)", "book.example"])
def test_an_address_is_one_of_the_web(address):
    with pytest.raises(Exception, match="it must start with https://"):
        Book(address=address)
