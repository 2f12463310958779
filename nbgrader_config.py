"""nbgrader's settings for a course taught from this book, run from this folder."""

import os
import secrets
from pathlib import Path

c = get_config()  # noqa: F821 (nbgrader provides it)

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.source_directory = "solutions"
c.ExecutePreprocessor.timeout = 60

# The hidden cases of a course are drawn from a seed of its own, kept so that a regrade is the same.
seed = Path(".course_seed")
if not seed.exists():
    seed.write_text(secrets.token_hex(8))
os.environ["ATTNKIT_SEED"] = seed.read_text()
