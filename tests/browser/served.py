"""A built site as a web host serves it: compressed, below a folder; and what a page of it costs."""

import gzip
import re
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = "/attention"
COMPRESSED = {".html", ".css", ".js", ".mjs", ".json", ".svg", ".ipynb"}

# Chromium calls its maker on its own, and the book must do without any other host.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

# The largest paint so far is always reported, at once or soon; shifts before it are reported too.
SHIFT_AND_PAINT = """() => new Promise((done) => {
  let cls = 0;
  new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (cls += value)))
    .observe({ type: "layout-shift", buffered: true });
  new PerformanceObserver((list) =>
    setTimeout(() => done({ cls, lcp: list.getEntries().at(-1).startTime / 1000 })),
  ).observe({ type: "largest-contentful-paint", buffered: true });
})"""


# The pages of the contents, and the index that Sphinx adds.
CONTENTS = re.findall(r"file: (\S+)", (ROOT / "_toc.yml").read_text("utf-8"))
PAGES = sorted(f"{page}.html" for page in ["index", "genindex", *CONTENTS])


class Host(SimpleHTTPRequestHandler):
    """Serves the files below the folder and says nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path.removeprefix(FOLDER)))
        path = path / "index.html" if path.is_dir() else path
        if not self.path.startswith(FOLDER + "/") or not path.is_file():
            self.send_error(404)
            return
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        if path.suffix in COMPRESSED:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(folder):
    """The address of a built site, for as long as it is served on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Host, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{FOLDER}"
        server.shutdown()


def names(folder):
    """The pages of a built site."""
    pages = (path.relative_to(folder) for path in Path(folder).rglob("*.html"))
    return sorted(page.as_posix() for page in pages if page.parts[0] not in ("_static", "pagefind"))


def weigh(browser, address, width=390):
    """What the first view of a page costs: kilobytes, requests, paint (s) and shift."""
    with browser.new_context(viewport={"width": width, "height": 844}) as context:
        page, loaded = context.new_page(), []
        page.on("requestfinished", lambda request: loaded.append(request))
        page.goto(address, wait_until="networkidle")
        sizes = [request.sizes() for request in loaded if request.url.startswith("http")]
        return {
            "kb": sum(size["responseBodySize"] for size in sizes) / 1000,
            "requests": len(sizes),
            **page.evaluate(SHIFT_AND_PAINT),
        }
