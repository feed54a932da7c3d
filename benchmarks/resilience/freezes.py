"""What holds the GIL, and so everybody's answers, while hostile but legal questions are answered without a model.

    python -m benchmarks.freezes [--workflows corrective,react] [--at-least 20] [--json]

Texts of every kind that a question, a document and a history may hold, at their greatest length. A thread wakes every
2 ms; where it could not, although the process used the CPU meanwhile, the GIL was held in one piece, and the functions
of ours that ran just then are named. CPU time and not time is counted, so that a busy machine does no harm. Beside it
stands what ran on the event loop itself.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.support.tables import show
from retrieval.workflows import NAMES

ROOT = str(Path(__file__).resolve().parents[2])
TICK_S = 0.002
QUESTION_CHARS = 8000
OURS = ("retrieval/", "chat/", "feedback/")
WAITING = ("wait", "select", "_worker", "run_forever", "poll", "_get_work_item")


def texts(chars: int) -> dict[str, str]:
    """Kinds of text, each of this length."""
    words = [
        "borrow",
        "library",
        "student",
        "loan",
        "undergraduate",
        "book",
        "week",
        "renew",
        "2025",
        "and",
        "or",
        "not",
    ]
    rng = random.Random(7)
    prose = " ".join(rng.choice(words) for _ in range(chars))
    sentences = ". ".join(" ".join(rng.choice(words).title() for _ in range(6)) for _ in range(chars // 6))
    chinese = "图书馆借阅规定本科生可以借十本书四周内归还逾期罚款请问多少天续借需要什么条件"
    kinds = {
        "prose": prose,
        "sentences": f"How many books may I borrow? {sentences}",
        "questions": "How many books? And how long, or which fine? " * chars,
        "chinese": "".join(rng.choice(chinese) for _ in range(chars)),
        "chinese sentences": "本科生可以借多少本书？图书馆规定是什么，以及罚款多少。" * chars,
        "numbers": " ".join(str(rng.randrange(10**6)) for _ in range(chars)),
        "digits": "1234567890" * chars,
        "one word": "a" * chars,
        "lines": "- borrow | ten\n" * chars,
        "table": f"| a | b |\n| {'-' * 20} | - |\n" + "| ten | books |\n" * chars,
        "open brackets": "[" * chars,
        "quotes": "\"borrow\" “book” 'ten' " * chars,
        "hyphens": "book-" * chars,
        "spaces": "book" + " " * (chars - 8) + "ten",
        "negations": "not no never cannot won't n't " * chars,
        "mixed script": "book图書библиотека本ライブラリ " * chars,
        "dots": "e.g. i.e. 1.2.3 ... " * chars,
        "markers": "ten books [1][2] [3], " * chars,
    }
    return {name: text[:chars] for name, text in kinds.items()}


# ------------------------------------------------------------------------------------------------ measuring
@dataclass
class Site:
    """One place in the code that held the GIL, or the loop."""

    count: int = 0
    longest_ms: float = 0.0
    total_ms: float = 0.0
    with_text: str = ""

    def add(self, ms: float, text: str) -> None:
        self.count, self.total_ms = self.count + 1, self.total_ms + ms
        if ms > self.longest_ms:
            self.longest_ms, self.with_text = ms, text


@dataclass
class Watch:
    at_least_ms: float
    held: dict[str, Site] = field(default_factory=lambda: defaultdict(Site))
    on_loop: dict[str, Site] = field(default_factory=lambda: defaultdict(Site))
    text: str = ""

    @contextmanager
    def running(self) -> Iterator[None]:
        stop, began = threading.Event(), 0.0

        def collected(phase: str, info: dict[str, int]) -> None:
            nonlocal began
            if phase == "start":
                began = time.thread_time()
            elif (took_ms := (time.thread_time() - began) * 1000) >= self.at_least_ms / 4:
                self.held[f"garbage collection, generation {info['generation']}"].add(took_ms, self.text)

        gc.callbacks.append(collected)
        thread = threading.Thread(target=self._watch, args=(stop, threading.get_ident()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            gc.callbacks.remove(collected)

    def _watch(self, stop: threading.Event, loop_thread: int) -> None:
        own, before = threading.get_ident(), dict[int, float]()
        loop_site, loop_since = "", cpu_s(loop_thread)
        while not stop.is_set():
            time.sleep(TICK_S)
            frames = sys._current_frames()
            now = {ident: cpu_s(ident) for ident in frames if ident != own}
            for ident, seconds in now.items():
                used_ms = (seconds - before.get(ident, seconds)) * 1000
                if used_ms >= self.at_least_ms and (site := place(frames[ident])):
                    self.held[site].add(used_ms, self.text)
            site = callers(frames.get(loop_thread))
            if site != loop_site:
                if loop_site and (on_loop_ms := (now[loop_thread] - loop_since) * 1000) >= self.at_least_ms / 4:
                    self.on_loop[loop_site].add(on_loop_ms, self.text)
                loop_site, loop_since = site, now[loop_thread]
            before = now


def cpu_s(thread: int) -> float:
    """What a thread has used of the CPU."""
    return time.clock_gettime(time.pthread_getcpuclockid(thread))


def place(frame: FrameType | None) -> str:
    """The innermost function of ours, with what it called; "" for a thread that waits."""
    called = ""
    if frame is None or frame.f_code.co_name in WAITING:
        return ""
    while frame is not None:
        if name := our_file(frame):
            return f"{name}:{frame.f_lineno} {frame.f_code.co_name}{called}"
        called = called or f" > {frame.f_code.co_name}"
        frame = frame.f_back
    return ""


def callers(frame: FrameType | None) -> str:
    """The innermost functions of ours, outer ones first; "" for a thread that waits."""
    names: list[str] = []
    if frame is None or frame.f_code.co_name in WAITING:
        return ""
    while frame is not None and len(names) < 5:
        if (name := our_file(frame)) and not frame.f_code.co_name.startswith("<"):
            names.append(f"{Path(name).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return " > ".join(reversed(names))


def our_file(frame: FrameType) -> str:
    name = os.path.relpath(frame.f_code.co_filename, ROOT)
    return name if name.startswith(OURS) else ""


# ------------------------------------------------------------------------------------------------ the site
async def measure(watch: Watch, workflows: list[str], only: str) -> list[dict[str, Any]]:
    from asgiref.sync import sync_to_async

    from chat.runs.run import answer_question
    from ragsite.core.errors import AppError
    from retrieval.engine import close_engine
    from retrieval.trace import Trace
    from retrieval.values import HistoryMessage, Question

    scope = await fill()
    await asyncio.to_thread(warmed_up)
    slow: list[dict[str, Any]] = []
    history_texts = texts(QUESTION_CHARS)
    for name, text in texts(QUESTION_CHARS).items():
        if only and only not in name:
            continue
        history = tuple(
            HistoryMessage(role="user" if at % 2 == 0 else "assistant", text=history_texts[kind])
            for at, kind in enumerate([name, *list(history_texts)][:20])
        )
        for workflow in workflows:
            follow_up = Question(text=f"And {text}"[:QUESTION_CHARS], scope=scope, history=history)
            for asked in (Question(text=text, scope=scope), follow_up):
                watch.text = f"{workflow}: {name}{' with history' if asked.history else ''}"
                began = time.process_time()
                try:
                    with watch.running():
                        answer = await answer_question(asked, workflow=workflow, trace=Trace())
                        await sync_to_async(rendered)(answer.text)
                except AppError as error:
                    print(watch.text, type(error).__name__, error, file=sys.stderr)
                slow.append({"question": watch.text, "CPU ms": (time.process_time() - began) * 1000})
    await close_engine()
    return sorted(slow, key=lambda row: -row["CPU ms"])[:12]


def warmed_up() -> None:
    """As a web process is when it has started."""
    from retrieval.engine import warm_up

    warm_up()
    for thread in threading.enumerate():
        if thread.name == "warm-up":
            thread.join()


def rendered(text: str) -> str:
    from chat.messages.rendering import render_answer

    return render_answer(text, markers=range(1, 10))


async def fill() -> Any:
    """A public collection with chunks at their greatest size, of every kind of text."""
    from asgiref.sync import sync_to_async
    from django.core.files.base import ContentFile

    from retrieval.models import Collection, Document
    from retrieval.selectors import scope_for_all
    from retrieval.services.documents import document_create
    from retrieval.services.ingest import document_ingest

    def make() -> list[Any]:
        collection = Collection.objects.create(name="hostile", visibility=Collection.Visibility.PUBLIC)
        made = []
        for name, text in texts(12_000).items():
            file_name = f"{name}.txt"
            upload = ContentFile(f"How many books may I borrow? {text}".encode(), name=file_name)
            created = document_create(collection=collection, upload=upload, file_name=file_name, queue=False)
            made.append(created.document)
        return made

    for document in await sync_to_async(make)():
        await document_ingest(document.pk)
    failed = Document.objects.exclude(status=Document.Status.READY)
    async for document in failed:
        print("not ingested:", document.title, document.error, file=sys.stderr)
    return await sync_to_async(scope_for_all)(names=["hostile"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workflows", default=",".join(NAMES))
    parser.add_argument("--texts", default="", help="only those whose name holds this")
    parser.add_argument("--at-least", type=float, default=20.0, help="ms that the GIL was held (default: 20)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    watch = Watch(options.at_least)
    with tempfile.TemporaryDirectory(prefix="ragsite-freezes-") as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "ragsite.settings", "RAGSITE_DATA_DIR": folder, "RAG_OFFLINE": "1",
            "DATABASE_URL": "", "REDIS_URL": "", "MILVUS_URI": "",
        }  # fmt: skip
        import django
        from django.core.management import call_command

        from ragsite.runtime import milvus_lite

        django.setup()
        call_command("migrate", verbosity=0)
        with milvus_lite.ensure_server(folder):
            slow = asyncio.run(measure(watch, options.workflows.split(","), options.texts))
    for title, found in (("GIL held", watch.held), ("on the loop", watch.on_loop)):
        rows = [
            {
                title: name,
                "times": site.count,
                "longest ms": site.longest_ms,
                "total ms": site.total_ms,
                "with": site.with_text,
            }
            for name, site in sorted(found.items(), key=lambda pair: -pair[1].longest_ms)[:25]
        ]
        show(rows, as_json=options.json)
    show(slow, as_json=options.json)


if __name__ == "__main__":
    main()
