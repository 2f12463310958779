"""What lies in a learner's folder: which file is which notebook, when it came, whether it changed.

Names, links and times come from outside; whatever they are, each expected notebook gets a file or
a sentence that says why there is none.
"""

import contextlib
import glob
import hashlib
import os
import re
from pathlib import Path

from nbgrader.utils import parse_utc

from attnkit.grading.graft import Unreadable, opened, read

# What nbgrader's exchange lays beside a submission and looks for again beside its feedback.
BESIDE = ("timestamp.txt", "submission_secret.txt")
LONGEST = 1000  # bytes of such a file


def all_but(*kept):
    """Globs that match every file name but those kept, in which only the first letter may be a *.

    nbgrader can be told what to leave behind, not what to take along. So these spell the names
    from their ends: whatever has a known ending and goes on as no kept name does is matched.

    >>> all_but("*.py", "py")
    ['*[!y]', 'y', '*[!p]y', '*[!.]py']
    """
    endings = {name[start:] for name in kept for start in range(len(name) + 1)}
    globs = []
    for ending in sorted((e for e in endings if not e.startswith("*")), key=lambda e: (len(e), e)):
        longer = {name[: -len(ending) or None][-1:] for name in kept if name.endswith(ending)}
        before = "".join(sorted(longer - {""}))
        if before == "*":
            continue
        if ending and ending not in kept:
            globs.append(ending)
        globs.append(f"*[!{before}]{ending}" if before else f"?*{ending}")
    return globs


def is_linked(folder):
    """Whether a learner's folder may lie elsewhere, where other people's files are."""
    return folder.is_symlink() or folder.parent.is_symlink()


def beside(folder):
    """The content of those files by name, as far as they are ordinary files of this folder."""
    found = {}
    for name in () if is_linked(folder) else BESIDE:
        with contextlib.suppress(Unreadable), opened(folder / name) as (file, _):
            found[name] = file.read(LONGEST)
    return found


def folders(coursedir, assignment):
    """The folder of each learner who handed in something for the assignment."""
    place = coursedir.submitted_directory
    shape = re.compile(coursedir.format_path(place, "(?P<student>[^/]+)", assignment, escape=True))
    found = sorted(glob.glob(coursedir.format_path(place, "*", glob.escape(assignment))))
    return {shape.fullmatch(path)["student"]: Path(path) for path in found}


def strays(coursedir, assignments):
    """What lies among the submissions, but in no learner's folder of one of these assignments."""
    if coursedir.directory_structure != type(coursedir).directory_structure.default_value:
        return []  # it may lie anywhere
    place = Path(coursedir.root, coursedir.submitted_directory)
    found = [path for path in place.glob("[!.]*") if not path.is_dir()]
    found += [path for path in place.glob("[!.]*/[!.]*") if path.name not in assignments]
    return sorted(str(path.relative_to(place.parent)) for path in found)


class Submission:
    """A learner's folder.

    :param expected: the names of the assignment's notebooks
    :param largest: bytes; a larger file is not read
    """

    def __init__(self, folder, expected, largest):
        self.folder, self.largest = folder, largest
        self.linked = is_linked(folder)
        self.there = [] if self.linked else _notebooks(folder)
        self.files = {name: folder / f"{name}.ipynb" for name in expected}
        missing = [name for name, path in self.files.items() if path not in self.there]
        others = [path for path in self.there if path not in self.files.values()]
        self.renamed = None
        if len(missing) == len(others) == 1 and not others[0].is_symlink():
            self.renamed = missing[0]
            self.files[self.renamed] = others[0]

    def read(self, name):
        """The notebook and a note about it, either of which may be None."""
        path = self.files[name]
        if self.linked:
            return None, "Nothing was read: the folder is a symbolic link, which is not followed."
        if path not in self.there:
            others = ", ".join(_shown(other) for other in self.there) or "no notebook"
            return None, f"Nothing was handed in as {_shown(path)}; there is {others}."
        try:
            notebook = read(path, self.largest)
        except Unreadable as error:
            return None, f"What was handed in could not be read: {error}."
        if name == self.renamed:
            return notebook, f"{_shown(path)} was taken for the expected {name}.ipynb."
        others = ", ".join(_shown(each) for each in self.there if each not in self.files.values())
        return notebook, f"{others} lies beside it and was not read." if others else None

    def timestamp(self):
        """When it was handed in, as nbgrader notes it, or None, and a note if that is no time."""
        path = self.folder / "timestamp.txt"
        if self.linked or not os.path.lexists(path):
            return None, None
        try:
            with opened(path) as (file, _):
                text = file.read(1000).decode().strip()
            return (parse_utc(text) if text else None), None
        except (ValueError, OverflowError):
            return None, "timestamp.txt holds no time, so no penalty for being late was looked for."

    def fingerprint(self):
        """Changes whenever something that is graded changes."""
        summary = hashlib.sha256(repr(self.linked).encode())
        for path in [*self.there, self.folder / "timestamp.txt"]:
            try:
                with opened(path) as (file, size):
                    content = file.read(self.largest + 1)
            except Unreadable as error:
                content, size = str(error).encode(), 0
            summary.update(f"{os.fsencode(path.name)} {size} ".encode())
            summary.update(hashlib.sha256(content).digest())
        return summary.hexdigest()


def _notebooks(folder):
    """The notebooks in a folder, without the hidden files that some systems put beside them."""
    if not folder.is_dir():
        return []
    found = (path for path in folder.iterdir() if path.suffix.lower() == ".ipynb")
    return sorted(path for path in found if not path.name.startswith("."))


def _shown(path):
    """A file's name as it may stand in a page and on a terminal."""
    return re.sub(r"[^\w .()+-]", "?", path.name)[:100]
