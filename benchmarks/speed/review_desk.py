"""How long the review desk's queue, search, filters and dashboard take on a site where much was asked.

    python -m benchmarks.review_desk [--messages 100000] [--database postgresql://USER@HOST/NAME] [--runs 20]
                                     [--exported 100000] [--json]

Makes that many messages (half of them answers) in a temporary folder, on SQLite or, with --database, in a database of
its own on that PostgreSQL server, and drops it afterwards: 2,000 people, two and a half years, five workflows, eight
collections with 800 documents, six sources for each answer, one answer in twelve rated, one in nine without an answer.
Texts are sentences of the sample handbook, so that words are as frequent as in a real one, each with a code of its own.
Rows are inserted in bulk; how fast `answers_record` makes the desk's rows from messages is measured on 1,000 of them.

Each figure is one page of fifty with its details, as `GET /api/review/answers` reads it; "whole page" is `/review/`
with its counts, choices and HTML, and so are the dashboard and the comparison, over 30 days and over all. The baseline
is the same question put to the messages themselves, as the filters of the administration do, of fifty rows. The export
is read in batches to its end, or to --exported answers; its memory is the process' resident memory then, looked at
after each tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.support.own_site import a_database, set_up
from benchmarks.support.tables import Row, show

PEOPLE, TURNS, DAYS = 2_000, 4, 900
BATCH = 5_000
WORKFLOWS = ("corrective", "self_corrective", "dual_loop", "planned", "react")
MODELS = ("qwen3:8b", "llama3.1:8b", "gemma3:4b")
RECORDED = 1_000
COLLECTIONS, DOCUMENTS = 8, 100  # of a collection
SOURCES = 6  # of an answer
_SENTENCE = re.compile(r"(?<=[.。；;！？])\s*")
_MARKUP = re.compile(r"[#*|>`_]|<[^>]*>")


# ------------------------------------------------------------------------------------------------ the site
def sentences() -> list[str]:
    samples = Path(__file__).resolve().parents[2] / "retrieval" / "samples"
    texts = [path.read_text(encoding="utf-8") for path in sorted(samples.rglob("*.md"))]
    pieces = [piece.strip() for text in texts for piece in _SENTENCE.split(_MARKUP.sub(" ", text))]
    return [piece for piece in dict.fromkeys(pieces) if 20 <= len(piece) <= 300]


def make_messages(count: int) -> None:
    """`count` messages with the desk's rows, oldest first."""
    from django.contrib.auth.models import Group, User

    from chat.models import Message, Session

    rng = random.Random(7)
    pool = sentences()
    people = User.objects.bulk_create(User(username=f"person{n}", is_staff=n == 0) for n in range(PEOPLE))
    people[0].groups.add(Group.objects.get(name="Administrators"))
    documents = _documents()
    answers = count // 2
    began = datetime.now(UTC) - timedelta(days=DAYS)
    step = timedelta(days=DAYS) / answers
    made = 0
    while made < answers:
        size = min(BATCH, answers - made)
        sessions = Session.objects.bulk_create(
            Session(user=rng.choice(people), title=f"Conversation {made + n}") for n in range(-(-size // TURNS))
        )
        questions, replies = [], []
        for n in range(size):
            at = began + (made + n) * step
            session = sessions[n // TURNS]
            said = rng.choices(pool, k=3)
            code = f"case-{made + n}"
            questions.append(Message(session=session, role="user", text=f"{code}: {said[0]}", created_at=at))
            replies.append(_answer(rng, session, questions[-1], f"{said[1]} {said[2]} [1]", at))
        _insert(rng, questions, replies, documents)
        made += size


def _documents() -> list[Any]:
    from retrieval.models import Collection, Document

    collections = Collection.objects.bulk_create(
        Collection(name=f"Collection {n}", visibility="public") for n in range(COLLECTIONS)
    )
    return Document.objects.bulk_create(
        Document(collection=collection, title=f"Document {n}", status="ready", content_hash=f"{n}")
        for collection in collections
        for n in range(DOCUMENTS)
    )


def _answer(rng: random.Random, session: Any, question: Any, text: str, at: datetime) -> Any:
    from chat.models import Message

    decision = rng.choices(("ANSWER", "NO_ANSWER", "CLARIFY"), (16, 2, 1))[0]
    total = int(rng.lognormvariate(8.2, 0.8))
    weak = [{"sentence": "", "start": 0, "end": 0, "markers": [1], "score": 0.2, "supported": False, "reason": ""}]
    return Message(
        session=session, role="assistant", reply_to=question, text=text, decision=decision,
        status=rng.choices(("complete", "interrupted", "failed"), (97, 2, 1))[0],
        workflow=rng.choices(WORKFLOWS, (70, 15, 8, 5, 2))[0], model=rng.choice(MODELS),
        usage={"llm_calls": 3, "total_ms": total, "first_token_ms": total // 3},
        degraded=[{"step": "rerank", "reason": "late"}] if rng.random() < 0.06 else [],
        grounding=weak if rng.random() < 0.07 else None, created_at=at,
    )  # fmt: skip


def _insert(rng: random.Random, questions: list[Any], replies: list[Any], documents: list[Any]) -> None:
    from django.db.models import DateTimeField

    from chat.models import AnswerLabel, AnswerReview, Message, ReviewedCollection, Source
    from chat.review.records import _row
    from feedback.models import Rating

    created = next(field for field in Message._meta.fields if field.name == "created_at")
    assert isinstance(created, DateTimeField)
    created.auto_now_add = False
    try:
        Message.objects.bulk_create(questions, batch_size=1_000)
        Message.objects.bulk_create(replies, batch_size=1_000)
    finally:
        created.auto_now_add = True
    for reply in replies:
        reply.shown_ratings = []
    rated = [
        Rating(user_id=reply.session.user_id, message=reply, score=rng.choices((1, 2, 3, 4, 5), (2, 1, 1, 2, 6))[0])
        for reply in replies
        if rng.random() < 1 / 12
    ]
    Rating.objects.bulk_create(rated, batch_size=1_000)
    for rating in rated:
        rating.message.shown_ratings.append(rating)
    rows = [_row(reply) for reply in replies]
    for row in rows:
        row.state = rng.choices(("todo", "reviewed", "resolved"), (90, 7, 3))[0]
    rows = AnswerReview.objects.bulk_create(rows, batch_size=1_000)
    used = [rng.choices(documents, k=SOURCES) for _ in replies]
    Source.objects.bulk_create(
        [
            Source(message=reply, marker=marker, document_id=document.pk, chunk_id=str(document.pk),
                   title=document.title, text="A passage.", cited=marker < 3)
            for reply, given in zip(replies, used, strict=True)
            for marker, document in enumerate(given, start=1)
        ],
        batch_size=1_000,
    )  # fmt: skip
    ReviewedCollection.objects.bulk_create(
        [
            ReviewedCollection(answer=row, collection_id=given[0].collection_id)
            for row, given in zip(rows, used, strict=True)
        ],
        batch_size=1_000,
    )
    AnswerLabel.objects.bulk_create(AnswerLabel(answer=row, name="hr") for row in rows if rng.random() < 0.01)


# ------------------------------------------------------------------------------------------------ what is measured
def page_of(**filters: Any) -> Callable[[], int]:
    """One page with its details, and the pages' first cursor."""
    from chat.review.data import offered_collections, review_data
    from chat.review.queue import answers_page, answers_queue, with_details

    def read() -> int:
        access = _access()
        answers = with_details(answers_queue(access=access, chosen=filters))
        page = answers_page(answers, sort=filters.get("sort", "newest"), size=50)
        offered = offered_collections(access)
        return len([review_data(row, access=access, offered=offered) for row in page.rows])

    return read


def deep_page(**filters: Any) -> Callable[[], int]:
    """A page in the middle of the queue."""
    from chat.models import AnswerReview
    from chat.review.queue import answers_page, answers_queue, cursor_of, with_details

    row = AnswerReview.objects.order_by("pk")[AnswerReview.objects.count() // 2]

    def read() -> int:
        answers = with_details(answers_queue(access=_access(), chosen=filters))
        return len(answers_page(answers, sort="newest", size=50, after=cursor_of(row, "newest")).rows)

    return read


def whole_page(query: dict[str, str], address: str = "/review/") -> Callable[[], int]:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(HTTP_HOST="localhost")
    client.force_login(User.objects.get(username="person0"))

    def read() -> int:
        answer = client.get(address, query)
        if answer.status_code != 200:
            raise RuntimeError(answer.content.decode()[:500])
        return answer.content.count(b'class="review-row')

    return read


def by_messages(**filters: Any) -> Callable[[], int]:
    """The baseline: fifty messages, found without the desk's rows."""
    from chat.models import Message

    def read() -> int:
        answers = Message.objects.filter(role="assistant").select_related("reply_to")
        if filters.get("rated"):
            answers = answers.filter(ratings__score__lte=2).distinct()
        if "search" in filters:
            answers = answers.filter(text__icontains=filters["search"])
        return len(answers.filter(**filters.get("where", {})).order_by("-created_at", "-pk")[:50])

    return read


def _access() -> Any:
    from django.contrib.auth.models import User

    from chat.review.roles import desk_access

    return desk_access(User.objects.get(username="person0"))


def questions_asked(answers: int) -> dict[str, tuple[Callable[[], int], Callable[[], int] | None]]:
    """What is measured, each with its baseline."""
    rare = f"case-{answers // 3}"
    older = datetime.now(UTC) - timedelta(days=DAYS // 2)
    always = {"from": str((datetime.now(UTC) - timedelta(days=780)).date()), "to": str(datetime.now(UTC).date())}
    return {
        "all, newest": (page_of(), by_messages()),
        "all, half way down": (deep_page(), None),
        "worst first": (page_of(sort="worst"), None),
        "badly rated, to do": (page_of(reason="badly_rated", state="todo"), by_messages(rated=True)),
        "no answer": (page_of(reason="no_answer"), by_messages(where={"decision": "NO_ANSWER"})),
        "weak, in one workflow": (page_of(reason="weak", workflow="react"), None),
        "a collection": (page_of(collection="Collection 3"), None),
        "one person's": (page_of(user="person77"), by_messages(where={"session__user__username": "person77"})),
        "a label": (page_of(label="hr"), None),
        "of one half, resolved": (page_of(to=older, state="resolved"), None),
        "search, one frequent word": (page_of(search="students"), by_messages(search="students")),
        "search, two words": (page_of(search="library loan"), by_messages(search="library")),
        "search, Chinese": (page_of(search="圖書館"), by_messages(search="图书馆")),
        "search, one answer of all": (page_of(search=rare), by_messages(search=rare)),
        "search, no answer of all": (page_of(search="xylophone"), by_messages(search="xylophone")),
        "search in the badly rated": (page_of(search="students", reason="badly_rated"), None),
        "whole page": (whole_page({}), None),
        "whole page, search": (whole_page({"search": "library loan"}), None),
        "dashboard, 30 days": (whole_page({}, "/review/dashboard/"), None),
        "dashboard, 780 days": (whole_page(always, "/review/dashboard/"), None),
    }


def measured(read: Callable[[], int], runs: int) -> dict[str, object]:
    times = []
    rows = read()
    for _ in range(runs):
        begun = time.perf_counter()
        read()
        times.append((time.perf_counter() - begun) * 1000)
    return {"rows": rows, "p50 ms": median(times), "p95 ms": quantiles(times, n=20)[-1]}


def record_rate() -> float:
    """Rows a second that `answers_record` makes."""
    from chat.models import Message
    from chat.review.records import answers_record

    ids = list(islice(Message.objects.filter(role="assistant").values_list("pk", flat=True), RECORDED))
    begun = time.perf_counter()
    for start in range(0, len(ids), 200):
        answers_record(ids[start : start + 200])
    return len(ids) / (time.perf_counter() - begun)


async def exported(most: int) -> tuple[int, float, list[float]]:
    """Answers that were exported, seconds, and the resident memory in MiB after each tenth of `most`."""
    from asgiref.sync import sync_to_async

    from chat.review.export import export_lines

    access = await sync_to_async(_access)()
    begun, count, memory = time.perf_counter(), 0, [resident_mib()]
    async for part in export_lines(access=access, chosen={}, as_csv=False, with_names=True):
        count += part.count("\n")
        if count >= most * len(memory) / 10:
            memory.append(resident_mib())
        if count >= most:
            break
    return count, time.perf_counter() - begun, memory


def resident_mib() -> float:
    """Now; where the system does not tell, its peak until now."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(messages: int, runs: int, most: int) -> tuple[list[Row], list[str]]:
    from django.conf import settings
    from django.db import connection

    settings.ALLOWED_HOSTS = ["*"]
    begun = time.perf_counter()
    make_messages(messages)
    made_s = time.perf_counter() - begun
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE" if connection.vendor == "postgresql" else "PRAGMA optimize")
    rows: list[Row] = []
    for name, (read, baseline) in questions_asked(messages // 2).items():
        row = measured(read, runs)
        without = measured(baseline, max(3, runs // 5))["p50 ms"] if baseline else None
        rows.append({"what": name, **row, "by messages, p50 ms": without})
    rate = record_rate()
    count, export_s, memory = asyncio.run(exported(most))
    notes = [
        f"{connection.vendor}, {messages:,} messages, made in {made_s:.0f} s; answers_record: {rate:.0f} rows/s.",
        f"Export of {count:,} answers: {export_s:.1f} s, resident memory before and after each tenth, MiB: "
        + ", ".join(f"{mib:.0f}" for mib in memory),
        "Load average: " + ", ".join(f"{load:.1f}" for load in os.getloadavg()),
    ]
    return rows, notes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--exported", type=int, default=100_000, help="answers that are exported at most")
    parser.add_argument("--database", default="", help="a PostgreSQL server's URL; its role may create databases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder, a_database(options.database) as database:
        set_up(folder, database)
        rows, notes = measure(options.messages, options.runs, options.exported)
        from django.db import connections

        connections.close_all()
    show(rows, as_json=options.json, notes=notes)


if __name__ == "__main__":
    main()
