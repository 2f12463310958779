"""nbgrader's settings for a course taught from this book, run from this folder."""

import os
import secrets
from pathlib import Path

from attnkit.grading.submission import BESIDE, all_but

c = get_config()  # noqa: F821 (nbgrader provides it)

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.source_directory = "solutions"

# Only the answers of a submission are trusted: the rest of its notebook is the teacher's, and no
# other file that was handed in is taken along.
c.Autograde.exporter_class = "attnkit.grading.plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = ["attnkit.grading.plugin.Graft"]
c.CourseDirectory.ignore = all_but("*.ipynb", *BESIDE)
# The answers run in a confined process of their own; what they return is judged outside of it.
c.Autograde.autograde_preprocessors = [
    "attnkit.grading.plugin.Judge",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# An answer that calls the library function it should write earns nothing; True lets it pass.
c.Judge.library_calls = False

# What learners get back is a page of our own. Say where they read the book, and it links there.
c.GenerateFeedback.exporter_class = "attnkit.grading.feedback.FeedbackExporter"
c.GenerateFeedback.preprocessors = []
c.Book.address = ""

# The hidden cases of a course are drawn from a seed of its own, kept so that a regrade is the same.
seed = Path(__file__).with_name(".course_seed")
if not seed.exists():
    draft = seed.with_name(f"{seed.name}.draft")
    draft.write_text(secrets.token_hex(8))
    draft.replace(seed)
os.environ["ATTNKIT_SEED"] = seed.read_text()
