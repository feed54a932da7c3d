"""How the chat's pages feel in a browser: citations, a long conversation, and typing while an answer is written.

    python -m benchmarks.page_speed [--beside REVISION] [--runs 7] [--parts evidence,session,stream] [--json]

Starts a whole site (`manage.py up`) in a temporary folder with a PDF of 200 pages and conversations of 500 messages,
beside it, with --beside, the same site run by the code of another revision of this repository, as the baseline; both
are asked by turns. Chromium draws without a GPU on the same processors. Figures are medians, in milliseconds.

evidence: from a click on a citation until the page's picture is drawn with its mark; every click is for a page that
nobody has looked at before.
session: from the navigation to `/chat/ID/`, and from a click in the list, until the last answer can be read; then the
whole is scrolled upwards, 400 px a frame, for three seconds: the longest frame, and long tasks (over 50 ms).
stream: an answer of text, code, a table and formulas comes at 100 tokens a second. "shift" is the sum of the layout
shifts that Chromium counts (nobody types); "key" is the slowest key of a hand that types ten letters a second, from the
press to the next picture (Event Timing, steps of 8 ms), and "task" the longest task meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.support.fault_site import ADMIN_PASSWORD, ROOT, ModelServer, Site, wait_for
from benchmarks.support.tables import Row, show
from tests.retrieval.knowledge.ingest.files import pdf_bytes

PAGES = 200
PARTS = ("evidence", "session", "stream")
TYPED = "What else should a reader know who is late with a book, please? " * 2
PATIENCE_MS = 60_000
OBSERVERS = """
globalThis.seen = { shift: 0, task: 0, tasks: 0, key: 0, keys: 0 };
const watch = (what, see) =>
  new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ buffered: true, ...what });
watch({ type: "layout-shift" }, (entry) => { if (!entry.hadRecentInput) seen.shift += entry.value; });
watch({ type: "longtask" }, (entry) => {
  seen.task = Math.max(seen.task, entry.duration);
  seen.tasks += 1;
});
watch({ type: "event", durationThreshold: 16 }, (entry) => {
  if (!entry.name.startsWith("key") && entry.name !== "input") return;
  seen.key = Math.max(seen.key, entry.duration);
  seen.keys += 1;
});
"""
CLICKED = """async (index) => {
  const link = document.querySelectorAll(".answer a.citation")[index];
  link.scrollIntoView({ block: "center" });
  await new Promise((done) => setTimeout(done, 300));
  const begun = performance.now();
  link.click();
  const drawn = () => {
    const picture = document.querySelector("#source-panel .page-frame img");
    return picture?.complete && picture.naturalWidth > 0 && document.querySelector("#source-panel .page-mark");
  };
  while (!drawn()) {
    if (performance.now() - begun > 20000) throw new Error("no page");
    await new Promise((done) => setTimeout(done, 4));
  }
  await document.querySelector("#source-panel .page-frame img").decode();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}"""
READABLE = """() => {
  const last = [...document.querySelectorAll("#thread > .answer, #thread .answer")].at(-1);
  const bottom = last?.querySelector(".answer-actions")?.getBoundingClientRect();
  return bottom && bottom.height > 0 && bottom.top < innerHeight && bottom.top > 0;
}"""
WHEN_READABLE = f"""(begun) => new Promise((done) => {{
  const shown = () => done(performance.now() - (begun ?? 0));
  const look = () => (({READABLE})() ? requestAnimationFrame(shown) : setTimeout(look, 4));
  look();
}})"""
OPENED = f"""(link) => {{
  const begun = performance.now();
  document.querySelector(link).click();
  return ({WHEN_READABLE})(begun);
}}"""
SCROLLED = """async () => {
  const scroll = document.querySelector("#thread-scroll");
  let longest = 0, before = performance.now(), frames = 0;
  const end = before + 3000;
  while (performance.now() < end) {
    scroll.scrollTop -= 400;
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
    frames += 1;
  }
  return { longest, frames };
}"""


# ------------------------------------------------------------------------------------------------ what is shown
def pdf() -> bytes:
    """Text of a handbook's look: a heading and forty lines a page, no two alike."""
    pages = []
    for page in range(1, PAGES + 1):
        lines = [f"# Section {page}: rules for reading room {page}"]
        for line in range(40):
            number = page * 100 + line
            lines.append(f"Rule {number} says that reader {number * 7} may keep book {number * 3} for {line + 2} days.")
        pages.append("\n".join(lines))
    return pdf_bytes(pages, title="Rules of two hundred reading rooms")


def answer() -> str:
    """About 1,200 tokens with everything that moves a page: code, a table, lists, formulas."""
    parts = []
    for number in range(1, 7):
        parts += [
            f"## Part {number}\n\nA reader who is late pays a fee for each day, and the fee ends at twenty euros [1]. "
            "The desk writes a letter after one week, and a second one after two weeks, before it closes the account.",
            f"The fee of $n$ readers is $$F_{{{number}}} = \\sum_{{i=1}}^{{n}} \\min(0.2\\,d_i, 20)$$ and its mean is "
            "$\\bar F = F / n$, as the next lines compute it.",
            "```python\ndef fee(days: list[int]) -> float:\n    total = 0.0\n    for day in days:\n"
            "        total += min(0.2 * day, 20.0)\n    return total / len(days)\n```",
            "| Kind | Weeks | Fee a day |\n|---|---:|---:|\n"
            + "\n".join(f"| Kind {row} | {row} | 0.{row} |" for row in range(1, 8)),
            "1. Ask at the desk.\n2. Show the card.\n   - of the library,\n   - or of the university.\n3. Pay.",
        ]
    return "\n\n".join(parts)


# ------------------------------------------------------------------------------------------------ the sites
@dataclass
class Shown:
    """A site with its conversations."""

    name: str
    site: Site
    made: dict[str, str] = field(default_factory=dict)
    cookies: list[dict[str, Any]] = field(default_factory=list)
    clicked: int = 0  # citations so far

    def prepare(self) -> None:
        self.site.start()
        with httpx.Client(base_url=self.site.url, timeout=60) as http:
            token = http.post("/api/auth/token", json={"username": "admin", "password": ADMIN_PASSWORD}).json()["token"]
            http.headers["Authorization"] = f"Token {token}"
            files = {"file": ("rules.pdf", pdf(), "application/pdf")}
            document = http.post("/api/documents", files=files, data={"collection": "rules"}).json()["documents"][0][
                "id"
            ]

            def is_read() -> bool:
                status = http.get(f"/api/documents/{document}").json()
                if status["status"] == "failed":
                    raise RuntimeError(status["error"])
                return bool(status["status"] == "ready")

            wait_for(is_read, within_s=300, what="the PDF")
        self.made = json.loads(
            self.site.manage("-m", "benchmarks.speed.long_conversation", "--document", document).splitlines()[-1]
        )


@contextlib.contextmanager
def tree_of(revision: str, folder: Path) -> Iterator[Path]:
    """The repository's files as of a revision."""
    tree = folder / "baseline"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", str(tree), revision], check=True, capture_output=True)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=False, capture_output=True)


@contextlib.contextmanager
def sites(beside: str, folder: Path) -> Iterator[list[Shown]]:
    said = folder / "answer.md"
    said.write_text(answer(), encoding="utf-8")
    model = ModelServer("--tokens-per-s", "100", "--first-token-ms", "20", "--answer", str(said))
    model.start()
    environment = {
        "OLLAMA_BASE_URL": model.url, "RAG_CHAT_MODEL": "test-chat:latest",
        "RAG_LIMIT_QUESTIONS_PER_MINUTE": "10000",  # the made conversations' questions were all asked just now
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        stack.callback(model.stop)
        trees = {"this": ROOT}
        if beside:
            trees = {beside: stack.enter_context(tree_of(beside, folder)), **trees}
        shown = []
        for name, tree in trees.items():
            data = folder / f"site-{len(shown)}"
            data.mkdir()
            one = Shown(name, Site(data / "var", data / "up.log", environment, root=tree))
            stack.callback(one.site.stop)
            one.prepare()
            shown.append(one)
        yield shown


# ------------------------------------------------------------------------------------------------ what is measured
class Hand:
    """A browser in front of one site; a new context for each run, so that nothing is cached."""

    def __init__(self, browser: Any, shown: Shown) -> None:
        self._browser, self._shown = browser, shown

    @contextlib.contextmanager
    def page(self) -> Iterator[Any]:
        shown = self._shown
        viewport = {"width": 1280, "height": 860}
        context = self._browser.new_context(base_url=shown.site.url, viewport=viewport)
        context.set_default_timeout(PATIENCE_MS)
        try:
            page = context.new_page()
            page.add_init_script(OBSERVERS)
            if shown.cookies:
                context.add_cookies(shown.cookies)
            else:
                page.goto("/accounts/login/")
                page.fill("input[name=username]", "admin")
                page.fill("input[name=password]", ADMIN_PASSWORD)
                page.press("input[name=password]", "Enter")
                page.wait_for_selector("#composer")
                shown.cookies = context.cookies()
            yield page
        finally:
            context.close()

    def evidence(self) -> dict[str, float]:
        shown = self._shown
        with self.page() as page:
            page.goto(f"/chat/{shown.made['cited']}/")
            page.evaluate(WHEN_READABLE, 0)
            page.wait_for_timeout(1500)
            count = page.evaluate("document.querySelectorAll('.answer a.citation').length")
            taken = {}
            for name in ("first", "clicked"):
                shown.clicked += 1
                index = count - 1 - shown.clicked % count
                taken[f"evidence, {name}"] = page.evaluate(CLICKED, index)
                page.wait_for_timeout(1000)
                page.keyboard.press("Escape")
            return taken

    def session(self) -> dict[str, float]:
        shown = self._shown
        with self.page() as page:
            page.goto("/")
            page.goto(f"/chat/{shown.made['long']}/", wait_until="commit")
            opened = page.evaluate(WHEN_READABLE, 0)
            page.wait_for_timeout(500)
            opening = page.evaluate("seen.task")
            page.evaluate("Object.assign(seen, { task: 0, tasks: 0 })")
            scrolled = page.evaluate(SCROLLED)
            page.wait_for_timeout(300)
            scrolling = page.evaluate("seen")
            page.goto("/")
            link = page.locator(f"#session-list a[href*='{shown.made['long']}']").first
            link.wait_for()
            page.wait_for_timeout(500)
            clicked = page.evaluate(OPENED, f"#session-list a[href*='{shown.made['long']}']")
        return {
            "session, by address": opened, "session, by click": clicked, "session, longest task": opening,
            "scroll, longest frame": scrolled["longest"], "scroll, longest task": scrolling["task"],
            "scroll, long tasks": scrolling["tasks"], "scroll, frames in 3 s": scrolled["frames"],
        }  # fmt: skip

    def stream(self) -> dict[str, float]:
        with self.page() as page:
            page.goto("/")
            page.fill("#composer textarea", "How long may reader 1407 keep book 603, and by which rule?")
            page.evaluate("Object.assign(seen, { shift: 0, task: 0, tasks: 0, key: 0 })")
            page.keyboard.press("Enter")
            page.wait_for_selector(".answer .answer-actions")
            page.wait_for_timeout(300)
            still = page.evaluate("seen")
            page.fill("#composer textarea", "And how long may reader 2107 keep book 903, by which rule?")
            page.keyboard.press("Enter")
            page.wait_for_selector(".answer.is-live .prose h2")
            page.evaluate("Object.assign(seen, { task: 0, tasks: 0, key: 0, keys: 0 })")
            page.focus("#composer textarea")
            page.keyboard.type(TYPED, delay=80)
            typing = page.evaluate("seen")
        return {
            "stream, shift": still["shift"], "stream, longest task": still["task"],
            "typing, slowest key": typing["key"], "typing, longest task": typing["task"],
            "typing, long tasks": typing["tasks"],
        }  # fmt: skip


def measure(options: argparse.Namespace, folder: Path) -> tuple[list[Row], list[str]]:
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        raise SystemExit("No Chromium is installed.")
    parts = [part for part in PARTS if part in options.parts.split(",")]
    with sites(options.beside, folder) as shown, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        taken: dict[str, dict[str, list[float]]] = {one.name: {} for one in shown}
        load = [os.getloadavg()[0]]
        for number in range(options.runs + 1):
            for one in shown:
                for part in parts:
                    for name, value in getattr(Hand(browser, one), part)().items():
                        if number:  # the first one warms up
                            taken[one.name].setdefault(name, []).append(value)
            load.append(os.getloadavg()[0])
        version = browser.version
        browser.close()
    names = list(taken["this"])
    rows: list[Row] = []
    for name in names:
        row: dict[str, object] = {"what": name}
        for site in taken:
            values = taken[site][name]
            digits = 3 if "shift" in name else 0
            row[site] = round(median(values), digits)
            row[f"{site}, worst"] = round(max(values), digits)
        rows.append(row)
    note = (
        f"{options.runs} runs; {os.cpu_count()} processors, load {min(load):.1f}–{max(load):.1f}; Chromium {version}."
    )
    return rows, [note]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", default="", help="a revision of this repository as the baseline")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-pages-", ignore_cleanup_errors=True) as folder:
        rows, notes = measure(options, Path(folder))
    show(rows, as_json=options.json, notes=notes)


if __name__ == "__main__":
    main()
