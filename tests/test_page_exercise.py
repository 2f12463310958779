"""An exercise on a page, without a browser: its box, its runner, its notebook, its Python."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from html import unescape
from pathlib import Path

import pytest

from attnkit import notebooks
from attnkit.exercises import CHAPTERS, all_exercises, find

ROOT = Path(__file__).parents[1]
EXTENSIONS = ROOT / "_ext"
NODE = Path(sys.executable).parent / "node"
NAME = "soft_attention.softmax"
IN_PAGE = [exercise for exercise in all_exercises() if exercise.backend == "numpy"]
# What the pages' Python does not have.
ABSENT = ("IPython", "nbformat", "nbgrader", "tqdm", "torch", "matplotlib", "anywidget")


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    monkeypatch.syspath_prepend(str(EXTENSIONS / "exercise"))


def body(exercise):
    return f"def {exercise.function}{exercise.signature}:\n" + "".join(
        f"    {line}\n" for line in notebooks.solution(exercise).splitlines()
    )


def run(code, name=NAME):
    from runner import run

    return json.loads(run(name, code))


# ------------------------------------------------------------------ the box


@pytest.mark.parametrize("exercise", IN_PAGE, ids=lambda e: e.name)
def test_the_desk_holds_the_notebooks_starter(exercise):
    from exercise import parts

    prompt, desk = parts(exercise, "../")
    text = unescape(re.search(r"<textarea[^>]*>\n(.*)</textarea>", desk, re.DOTALL)[1])
    cells = {c.metadata.nbgrader.grade_id: c for c in notebooks.learner(exercise.chapter).cells}
    assert text == cells[exercise.function].source
    assert f'href="../notebooks/{exercise.chapter}.ipynb"' in desk
    assert exercise.given.strip() in prompt


def test_an_exercise_that_needs_torch_offers_the_notebook_instead():
    from exercise import parts

    prompt, desk = parts(replace(find(NAME), backend="torch"), "../")
    assert desk == ""
    assert "needs torch, which does not run in a page" in prompt
    assert '<a href="../notebooks/soft_attention.ipynb" download>' in prompt
    assert "def softmax(scores, axis=-1):" in prompt


# ------------------------------------------------------------------ the runner


@pytest.mark.parametrize("exercise", IN_PAGE, ids=lambda e: e.name)
def test_the_runner_accepts_each_solution(exercise):
    assert run(body(exercise), exercise.name)["passed"]


def test_the_runner_names_the_mistake():
    line = "return np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)"
    outcome = run(f"def softmax(scores, axis=-1):\n    {line}\n")
    assert not outcome["passed"]
    assert "takes the exponential of the raw scores" in outcome["html"]


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("x = 1\ndef softmax(:\n", "line 2 of your code, <code>def softmax(:</code>"),
        ("import nowhere\n", "line 1 of your code, <code>import nowhere</code>"),
        ("eval('1 +')\n", "line 1 of your code, <code>eval(&#x27;1 +&#x27;)</code>"),
        ("x = '\0'\n", "SyntaxError"),
        ("raise SystemExit\n", "line 1 of your code, <code>raise SystemExit</code>"),
        ("def soft(scores): return 1\n", "your code defines no function <code>softmax</code>"),
        (
            "def softmax(scores, axis=-1):\n    return scores.nothing\n",
            "<code>return scores.nothing</code>, raised AttributeError",
        ),
        (
            "def softmax(scores, axis=-1):\n    raise KeyboardInterrupt\n",
            "line 2 of your code, <code>raise KeyboardInterrupt</code>",
        ),
    ],
)
def test_the_runner_shows_a_fault_with_the_readers_own_line(code, seen):
    outcome = run(code)
    assert not outcome["passed"]
    assert seen in outcome["html"]
    assert "runner.py" not in outcome["html"]


def test_what_is_printed_is_shown_up_to_a_limit():
    assert run("print('first')\n")["printed"] == "first\n"
    long = run("for i in range(100):\n    print('x' * 1000)\n")["printed"]
    assert len(long) <= 10_002
    assert long.endswith(" …")


def test_each_run_begins_anew():
    run("left = 1\n")
    assert "NameError" in run("print(left)\n")["html"]


def test_an_answer_is_not_markup():
    assert "<img" not in run("raise ValueError('<img src=x>')\n")["html"]


def test_the_runner_needs_numpy_alone():
    code = """
import sys
absent, folder, *names = sys.argv[1:]
sys.modules.update(dict.fromkeys(absent.split(",")))
sys.path.insert(0, folder)
import runner
for name in names:
    runner.run(name, "")
"""
    names = [exercise.name for exercise in IN_PAGE]
    command = [sys.executable, "-c", code, ",".join(ABSENT), EXTENSIONS / "exercise", *names]
    subprocess.run(command, cwd=ROOT, timeout=60, check=True)


# ------------------------------------------------------------------ the scripts


def node(module, expression, **values):
    """The value of an expression in which ``m`` is the module."""
    script = (
        f"import * as m from {json.dumps((EXTENSIONS / 'exercise' / module).as_uri())};"
        f"const {{{', '.join(values)}}} = {json.dumps(values)};"
        f"console.log(JSON.stringify({expression}))"
    )
    command = [NODE, "--input-type=module", "--eval", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_answers_go_into_their_cells_of_the_notebook_and_nowhere_else(chapter):
    blank = notebooks.learner(chapter)
    answers = {e.function: body(e) for e in all_exercises() if e.chapter == chapter}
    filled = node(
        "notebook.js",
        "m.fill(blank, (id) => answers[id] ?? null)",
        blank=dict(blank),
        answers=answers,
    )
    assert len(filled["cells"]) == len(blank.cells)
    for before, after in zip(blank.cells, filled["cells"], strict=True):
        grade_id = before.metadata.nbgrader.grade_id
        assert after["source"] == answers.get(grade_id, before.source)
        assert after["metadata"] == before.metadata
    untouched = node("notebook.js", "m.fill(blank, () => null)", blank=dict(blank))
    assert untouched == json.loads(json.dumps(blank))


def test_a_record_comes_back_from_its_file():
    names = {NAME: "2026-02-03"}
    assert node("record.js", "m.fromText(m.toText(names))", names=names) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"solved": {}}',
        '{"format": "attention-book progress", "version": 2, "solved": {}}',
        '{"format": "attention-book progress", "version": 1}',
        '{"format": "attention-book progress", "version": 1, "solved": {"a": "<b>"}}',
        '{"format": "attention-book progress", "version": 1, "solved": "2026-02-03"}',
    ],
)
def test_a_foreign_file_is_no_record(text):
    refused = "(() => { try { return m.fromText(text) } catch { return 'refused' } })()"
    assert node("record.js", refused, text=text) == "refused"


# ------------------------------------------------------------------ Python for the page

NUMPY = {
    "file_name": "numpy.whl",
    "sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
}


@pytest.fixture
def offline(monkeypatch):
    """The addresses that were asked for in vain."""
    import page_python

    asked = []
    open_ = page_python.opener.open

    def open_file(place, timeout):
        if place.startswith("file:"):
            return open_(place, timeout=timeout)
        asked.append(place)
        raise TimeoutError

    monkeypatch.setattr(page_python.opener, "open", open_file)
    monkeypatch.delenv("PYODIDE_WHEELS", raising=False)
    return asked


def test_a_wheel_is_taken_from_the_folder_only_if_it_is_the_right_one(
    tmp_path, monkeypatch, offline
):
    from page_python import official_wheel

    monkeypatch.setenv("PYODIDE_WHEELS", str(tmp_path))
    (tmp_path / "numpy.whl").write_bytes(b"foo")
    assert official_wheel(NUMPY, "1.2", tmp_path / "kept") == b"foo"
    (tmp_path / "numpy.whl").write_bytes(b"food")
    assert official_wheel(NUMPY, "1.2", tmp_path / "kept") is None
    (address,) = offline
    assert address.endswith("/v1.2/full/numpy.whl")


def test_a_wheel_of_an_earlier_build_is_kept(tmp_path, offline):
    from page_python import official_wheel

    (tmp_path / "numpy.whl").write_bytes(b"foo")
    assert official_wheel(NUMPY, "1.2", tmp_path) == b"foo"


def test_without_numpy_nothing_is_put_beside_the_pages(tmp_path, offline):
    from page_python import install

    (tmp_path / "pyodide").mkdir()
    (tmp_path / "pyodide" / "numpy-1.whl").write_bytes(b"of an earlier version")
    assert install(tmp_path / "pyodide") == 0
    assert not (tmp_path / "pyodide").exists()


def test_what_a_worker_loads_is_locked_by_its_hash(book):
    folder = book / "_static" / "pyodide"
    if not folder.exists():
        pytest.skip("numpy for the browser could not be had: set PYODIDE_WHEELS to its folder.")
    packages = json.loads((folder / "pyodide-lock.json").read_text())["packages"]
    assert set(packages) == {"numpy", "array-api-compat", "attnkit"}
    for package in packages.values():
        wheel = folder / package["file_name"]
        assert sha256(wheel.read_bytes()).hexdigest() == package["sha256"]
    assert len(list(folder.glob("*.whl"))) == 3


def test_the_page_gets_the_attnkit_that_is_here(book, tmp_path):
    folder = book / "_static" / "pyodide"
    if not folder.exists():
        pytest.skip("numpy for the browser could not be had: set PYODIDE_WHEELS to its folder.")
    (wheel,) = folder.glob("attnkit-*.whl")
    shutil.unpack_archive(wheel, tmp_path, "zip")
    for path in (tmp_path / "attnkit").rglob("*.py"):
        assert path.read_bytes() == (ROOT / path.relative_to(tmp_path)).read_bytes()
