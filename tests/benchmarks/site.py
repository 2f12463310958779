"""Writes _build/bench/site.json: what each page costs, how it scores, how fast a demo follows."""

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from playwright.sync_api import sync_playwright

from tests.browser.served import QUIET, names, serving, weigh

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "_build" / "html"
RESULT = ROOT / "_build" / "bench" / "site.json"
NPX = Path(sys.executable).parent / "npx"
CHROMIUM = os.environ.get("CHROMIUM") or which("chromium") or which("google-chrome")
LIGHTHOUSE = "lighthouse@13.5.0"  # too large to be among what every build installs
RUNS = 5


def lighthouse(address):
    """The scores of a page on Lighthouse's phone: the median of each over the runs."""
    runs = []
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [NPX, "--yes", LIGHTHOUSE, address, "--output=json", f"--output-path={report}"]
        flags = " ".join(["--headless", *QUIET])
        for _ in range(RUNS):
            subprocess.run(
                [*command, "--quiet", f"--chrome-flags={flags}"],
                env={**os.environ, "CHROME_PATH": CHROMIUM},
                check=True,
                timeout=300,
            )
            found = json.loads(report.read_text(encoding="utf-8"))
            scores = {name: c["score"] * 100 for name, c in found["categories"].items()}
            lcp = found["audits"]["largest-contentful-paint"]["numericValue"] / 1000
            runs.append({**scores, "lcp": lcp})
    return {name: median(run[name] for run in runs) for name in runs[0]}


def drag(browser, address):
    """Milliseconds of work a frame takes while each demo of a page follows the mouse."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page, times = context.new_page(), {}
        page.goto(address, wait_until="networkidle")
        chromium = context.new_cdp_session(page)
        chromium.send("Performance.enable")

        def worked():
            metrics = chromium.send("Performance.getMetrics")["metrics"]
            return 1000 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")

        for place in page.locator(".attn-demo").all():
            place.scroll_into_view_if_needed()
            place.locator("svg").first.wait_for()
            handle = place.locator("svg [role=slider]").first
            if not handle.count():
                continue
            handle.scroll_into_view_if_needed()
            box = handle.bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.move(x, y)
            page.mouse.down()
            frames = []
            for step in range(120):
                start = worked()
                page.mouse.move(x + step % 40, y - step % 30)
                page.evaluate("new Promise(requestAnimationFrame)")
                frames.append(worked() - start)
            page.mouse.up()
            times[handle.get_attribute("aria-label")] = median(frames)
        return times


def verdicts(browser, address):
    """Seconds from the click to the verdict on a page's first exercise, cold and then warm."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address, wait_until="networkidle")
        desk, seconds = page.locator(".exercise-desk").first, []
        if not desk.count():
            return seconds
        for _ in range(2):
            start = perf_counter()
            desk.get_by_role("button", name="Run and check").click()
            said = desk.locator(".exercise-verdict section")
            said.wait_for(timeout=60_000)
            seconds.append(perf_counter() - start)
            said.evaluate("said => said.remove()")
        return seconds


def main():
    """Measure every page of the built book."""
    result = {}
    with serving(BOOK) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        for name in names(BOOK):
            address = f"{site}/{name}"
            result[name] = weigh(browser, address)
            result[name]["drag_ms"] = drag(browser, address)
            result[name]["verdict_s"] = verdicts(browser, address)
            result[name]["lighthouse"] = lighthouse(address)
            print(name, result[name], flush=True)
        browser.close()
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
