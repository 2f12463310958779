"""Runs the JavaScript of a demo outside of a browser."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

NODE = Path(sys.executable).parent / "node"
# Calls functions of a module, given as its source, with the arguments that come in.
CALL = """
const { source, calls } = JSON.parse(require("fs").readFileSync(0, "utf8"));
import("data:text/javascript," + encodeURIComponent(source)).then((module) => {
  console.log(JSON.stringify(calls.map(([name, ...values]) => module[name](...values))));
});
"""


def node(widget, *calls):
    """What the module that a page gets returns for each `(function, *arguments)`."""
    run = subprocess.run(
        [NODE, "--eval", CALL],
        input=json.dumps({"source": widget._esm, "calls": calls}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def close(got, wanted):
    """Equal to nine digits, shape included."""
    got, wanted = np.asarray(got, float), np.asarray(wanted, float)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
