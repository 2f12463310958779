"""A page's cells run anew exactly when something they import, directly or not, has changed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "_ext"))
import execution  # noqa: E402


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A package with a module that imports another, and a package with a script beside it."""
    package = tmp_path / "attnkit"
    for path, text in {
        "__init__.py": "",
        "near.py": "import numpy\nfrom attnkit.far import thing\n",
        "far.py": "thing = 1\n",
        "other.py": "",
        "demos/__init__.py": "",
        "demos/kit.js": "",
        "demos/near/__init__.py": "",
        "demos/near/one.js": "",
        "demos/other/__init__.py": "",
    }.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text)
    monkeypatch.setattr(execution, "ROOT", tmp_path)
    return package


PAGE = "from attnkit import near as n\nfrom attnkit.demos import near as demos\nn.thing"
SEEN = ["near.py", "far.py", "__init__.py", "demos/__init__.py", "demos/kit.js"]
SEEN += ["demos/near/__init__.py", "demos/near/one.js"]


@pytest.mark.parametrize("name", SEEN)
def test_a_change_of_what_is_imported_is_seen(root, name):
    before = execution.digest(PAGE)
    with (root / name).open("a") as file:
        file.write("\n")
    assert execution.digest(PAGE) != before


@pytest.mark.parametrize("name", ["other.py", "demos/other/__init__.py"])
def test_a_change_elsewhere_is_not(root, name):
    before = execution.digest(PAGE)
    (root / name).write_text("\n")
    assert execution.digest(PAGE) == before


def test_every_way_to_import_is_found():
    ways = "import attnkit.a\nfrom attnkit import b as c, d\nfrom attnkit.e import f\nimport numpy"
    found = sorted(execution.imported(ways))
    assert found == ["attnkit.a", "attnkit.b", "attnkit.d", "attnkit.e.f"]
