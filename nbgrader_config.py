"""nbgrader's settings for a course taught from this book, run from this folder."""

import os
import secrets
from pathlib import Path

c = get_config()  # noqa: F821 (nbgrader provides it)

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.source_directory = "solutions"

# Only the answers of a submission are trusted: the rest of its notebook is the teacher's, and no
# other file that was handed in is taken along.
c.Autograde.exporter_class = "attnkit.grading.plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = ["attnkit.grading.plugin.Graft"]
c.CourseDirectory.ignore = ["*"]
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

# The hidden cases of a course are drawn from a seed of its own, kept so that a regrade is the same.
seed = Path(".course_seed")
if not seed.exists():
    seed.write_text(secrets.token_hex(8))
os.environ["ATTNKIT_SEED"] = seed.read_text()
