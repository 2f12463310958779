"""Python for the page: puts Pyodide, numpy, attnkit and what it imports beside the pages."""

import json
import os
import zipfile
from hashlib import sha256
from http.client import HTTPException
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import TemporaryDirectory
from urllib.request import ProxyHandler, build_opener, getproxies

from hatchling.builders.wheel import WheelBuilder
from sphinx.util import logging

ROOT = Path(__file__).parents[1]
PYODIDE = ROOT / "node_modules" / "pyodide"
RUNTIME = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
# What the file names in Pyodide's lock are relative to; its npm package has the runtime only.
OFFICIAL = "https://cdn.jsdelivr.net/pyodide/v{version}/full/"
TIMEOUT = 10
# The opener is made before the build sends the requests of its cells nowhere.
opener = build_opener(ProxyHandler(getproxies()))
logger = logging.getLogger(__name__)


def install(folder):
    """Write all that a worker loads into the folder; return its size in bytes, 0 without numpy.

    Pyodide's own lock file, cut down to numpy and with our wheels added, lets Pyodide fetch them
    all at once and hold each against its hash.
    """
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))
    numpy = lock["packages"]["numpy"]
    wheels = {numpy["file_name"]: official_wheel(numpy, lock["info"]["version"], folder)}
    if wheels[numpy["file_name"]] is None:
        logger.info("%s is missing: the exercises of the pages cannot run", numpy["file_name"])
        rmtree(folder, ignore_errors=True)  # of an earlier version
        return 0
    lock["packages"] = {"numpy": numpy}
    for name, version, depends, wheel in (_array_api_compat(), _attnkit()):
        digest = sha256(wheel).hexdigest()
        # Its content is in its name (the build tag): no browser takes an old one for a new one.
        file_name = f"{name}-{version}-0{digest[:8]}-py3-none-any.whl"
        wheels[file_name] = wheel
        lock["packages"][name.replace("_", "-")] = {
            "name": name,
            "version": version,
            "file_name": file_name,
            "sha256": digest,
            "install_dir": "site",
            "package_type": "package",
            "imports": [name],
            "depends": depends,
        }
    _write(folder, lock, wheels)
    return sum(path.stat().st_size for path in folder.iterdir())


def official_wheel(wanted, version, kept):
    """The bytes of the wheel that the lock names, or None.

    Looked for in the folder ``PYODIDE_WHEELS``, then in ``kept``, where an earlier build put it,
    then on the network.
    """
    folders = [Path(folder) for folder in (os.environ.get("PYODIDE_WHEELS"), kept) if folder]
    places = [(folder.resolve() / wanted["file_name"]).as_uri() for folder in folders]
    for place in (*places, OFFICIAL.format(version=version) + wanted["file_name"]):
        try:
            with opener.open(place, timeout=TIMEOUT) as file:
                wheel = file.read()
        except (OSError, HTTPException):
            continue
        if sha256(wheel).hexdigest() == wanted["sha256"]:
            return wheel
        logger.info("%s is not the file that Pyodide's lock names", place)
    return None


def _attnkit():
    with TemporaryDirectory() as folder:
        (wheel,) = WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])
        _, version, *_ = Path(wheel).name.split("-")
        return "attnkit", version, ["numpy", "array-api-compat"], Path(wheel).read_bytes()


def _array_api_compat():
    """The installed package, zipped again: it is pure Python, so this is a wheel."""
    installed = distribution("array-api-compat")
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(installed.files):
            if path.suffix != ".pyc":
                # Without the date of the installation the same files give the same wheel.
                archive.writestr(zipfile.ZipInfo(str(path)), path.read_binary(), compress_type=8)
    return "array_api_compat", installed.version, ["numpy"], buffer.getvalue()


def _write(folder, lock, wheels):
    folder.mkdir(parents=True, exist_ok=True)
    for stale in set(folder.glob("*.whl")) - {folder / name for name in wheels}:
        stale.unlink()
    for name, wheel in wheels.items():
        (folder / name).write_bytes(wheel)
    for name in RUNTIME:
        copyfile(PYODIDE / name, folder / name)
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
