"""All demos: their modules run by themselves, bundled and from the folder."""

import json
import subprocess
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from attnkit import demos

from .node import NODE

MODULES = [import_module(f"attnkit.demos.{module.name}") for module in iter_modules(demos.__path__)]
SOURCES = [source for module in MODULES for source in sorted(Path(module.FOLDER).glob("*.js"))]
WIDGETS = [
    thing
    for module in MODULES
    for thing in vars(module).values()
    if isinstance(thing, type) and issubclass(thing, demos.Demo) and thing is not demos.Demo
]


def test_each_source_has_its_widget():
    assert len(SOURCES) == len(WIDGETS) > 0


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_source_file_runs_alone(path):
    """The module that Node imports from the folder exports what the bundled one does."""
    script = f"import * as m from {json.dumps(path.as_uri())}; console.log(Object.keys(m).sort())"
    command = [NODE, "--input-type=module", "--eval", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "compute" in run.stdout
    assert "default" in run.stdout


@pytest.mark.parametrize("widget", WIDGETS)
def test_bundled_module_imports_nothing(widget):
    assert "kit.js" not in widget._esm
