"""The notebooks follow from the exercises, and nothing that should stay with the teacher leaves."""

import inspect
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from attnkit import notebooks, self_check
from attnkit.checking import Exercise
from attnkit.exercises import CHAPTERS, all_exercises, of_chapter

SOLUTIONS = Path(__file__).parent.parent / "solutions"
SOLUTION = re.compile(r"( *)### BEGIN SOLUTION\n.*?### END SOLUTION", re.DOTALL)

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


def cells(notebook):
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells}


@each_chapter
def test_the_committed_solutions_have_not_drifted(chapter):
    committed = nbformat.read(SOLUTIONS / chapter / f"{chapter}.ipynb", as_version=4)
    assert committed == notebooks.teacher(chapter), "run `make solutions`"


def test_every_solution_folder_belongs_to_a_chapter():
    assert sorted(path.name for path in SOLUTIONS.iterdir()) == sorted(CHAPTERS)


@each_chapter
def test_a_starter_is_its_solution_but_for_the_blanks(chapter):
    starters = cells(notebooks.learner(chapter))
    for grade_id, cell in cells(notebooks.teacher(chapter)).items():
        if cell.cell_type == "code" and cell.metadata.nbgrader.solution:
            blank = SOLUTION.sub(r"\1# YOUR CODE HERE\n\1raise NotImplementedError()", cell.source)
            assert starters[grade_id].source == blank


@each_chapter
def test_nothing_of_the_teachers_is_handed_out(chapter):
    text = "\n".join(cell.source for cell in notebooks.learner(chapter).cells)
    assert "SOLUTION" not in text
    assert "HIDDEN" not in text
    assert "hidden=True" not in text
    assert "import attnkit" not in text
    for item in of_chapter(chapter):
        if isinstance(item, Exercise):
            secret = [notebooks.solution(item), *(m.name for m in item.misconceptions)]
        else:
            secret = [item.answer, item.scheme]
        for passage in secret:
            for line in map(str.strip, passage.splitlines()):
                if len(line) > 12 and not line.startswith("def "):
                    assert line not in text


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_a_solution_is_plain_numpy(exercise):
    text = notebooks.solution(exercise)  # that it is right, the audit says
    assert "xp." not in text
    assert "attnkit" not in text
    assert "'''" not in text
    assert '"""' not in text


@each_chapter
def test_a_right_notebook_gets_everything_and_a_blank_one_nothing(chapter):
    exercises = [item for item in of_chapter(chapter) if isinstance(item, Exercise)]
    right = self_check.verdicts(notebooks.teacher(chapter))
    assert [exercise for exercise, _ in right] == exercises
    assert all(verdict.passed for _, verdict in right)
    blank = self_check.verdicts(notebooks.learner(chapter))
    assert [verdict.kind for _, verdict in blank] == ["unfinished"] * len(exercises)


def test_a_failed_check_does_not_stop_a_run_of_all_cells():
    notebook = notebooks.learner("soft_attention")
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()  # would raise at an error
    (error,) = cells(notebook)["softmax_check"].outputs[1:]
    assert error.ename == "CheckFailed"
    assert len(error.traceback) == 1


def test_a_mistake_in_one_function_of_a_notebook_is_named():
    notebook = notebooks.teacher("soft_attention")
    cell = cells(notebook)["additive_scores"]
    cell.source = cell.source.replace(
        "np.tanh(from_key + from_query) @ v", "np.tanh((from_key + from_query) @ v)"
    )
    wrong = [verdict for _, verdict in self_check.verdicts(notebook) if not verdict.passed]
    assert [verdict.misconceptions for verdict in wrong] == [
        ("applies the tanh after v instead of before",)
    ]


def test_a_prompt_says_all_it_should():
    for exercise in all_exercises():
        prompt = inspect.getdoc(exercise.prompt)
        assert "```python" in prompt, "a loop says what is right"
        assert "$$" in prompt, "a formula says what is right"
        for parameter in exercise.signature.parameters:
            assert re.search(rf"\b{parameter}\b", prompt + exercise.contract)
