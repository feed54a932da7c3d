"""How long each page and call takes that lists something, on a site with much of everything.

    python -m benchmarks.lists [--database postgresql://USER@HOST/NAME] [--documents 200000] [--chunks 5] [--runs 5]
                               [--only WORDS] [--explain] [--json]

Makes its site in a temporary folder, on SQLite or, with --database, in a database of its own on that server, by SQL:
400 collections, half of them the site's and public, that hold the documents with so many chunks each (two large ones
hold a quarter of all; 2,000 are overdue for review, and cited 50 times each), 20,000 conversations of one person with a
question and an answer each, which stand at the desk, 2,000 people, 5,000 gaps. Vectors are left out. Every list is asked
by that person, an administrator, through Django's test client: what a browser waits for, without the network. Each
figure is the middle of some runs after one that is not counted; `queries` counts all of them. --explain prints the plan
of the slowest one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from statistics import median
from typing import Any

from benchmarks.own_site import a_database, set_up
from benchmarks.tables import Row, show

COLLECTIONS = 400
LARGE = 2
CONVERSATIONS = 20_000
PEOPLE = 2_000
GAPS = 5_000
EVENTS = 20_000
BROWSERS = 50
CITED = 5  # documents of each answer
ADDRESSES = """
/api/documents /api/documents?page=1000 /api/documents?page=4000 /api/documents?sort=title
/api/documents?sort=-size /api/documents?status=failed /api/documents?search=4711
/api/documents?collection=own%201 /api/documents?collection=own%207
/api/documents?versions=current /api/documents?review=overdue /api/review/documents
/api/review/documents?show=oldest /api/review/documents?show=oldest&page=4000
/api/documents/usage /api/documents/{document} /api/documents/{document}/chunks /api/collections
/api/collections?page=10 /api/collections/own%201 /api/filters /api/filters?collections=own%201
/api/sessions /api/sessions?page=600 /api/sessions?search=books
/api/sessions?search=Conversation%204711 /api/sessions/folders /api/sessions/{session}/messages
/api/messages/{answer}/versions /api/memory /api/keys /api/sync-sources /api/samples /api/status
/api/review/answers /api/review/answers?search=librarian /api/review/stats?by=day /
/chat/{session}/ /documents/ /documents/{document}/ /documents/search/ /documents/sources/
/memory/ /accounts/ /review/ /review/?sort=worst /review/gaps/ /review/documents/
/review/documents/?show=oldest /review/gaps/{gap}/ /review/golden/ /review/ratings/
/review/boosts/ /review/curated/ /review/log/ /administration/ /administration/health/
/administration/people/ /administration/people/?page=30 /administration/people/?search=person19
/administration/log/ /admin/retrieval/document/ /admin/retrieval/document/?q=4711
/admin/retrieval/document/?p=1000 /admin/retrieval/collection/ /admin/chat/session/
/admin/chat/message/ /admin/auth/user/
"""
WORDS = "Undergraduates may borrow ten books for four weeks; the librarian renews them twice. "


# ------------------------------------------------------------------------------------------------ the site
def make_site(documents: int, chunks: int) -> Any:
    """The person who asks."""
    from django.contrib.auth.models import Group, User

    from benchmarks.many_rows import analyse, copies

    ada = User.objects.create_user("ada", is_staff=True, is_superuser=True)
    ada.groups.add(Group.objects.get(name="Administrators"))
    reader = User.objects.create_user("person")
    copies(reader, User.objects.filter(pk=ada.pk), PEOPLE, username="'person' || n.i")
    _make_documents(ada, documents, chunks)
    _make_conversations(ada)
    _make_desk(ada, reader)
    _make_overdue()
    analyse()
    return ada


def _make_documents(ada: Any, documents: int, chunks: int) -> None:
    from benchmarks.many_rows import copies, earlier, new_text
    from retrieval.models import Chunk, Collection, Document, IngestJob

    first = Collection.objects.create(
        name="rules", visibility="public", embedding_model="m", embedding_dim=256
    )
    for half, values in (
        ("site", {}),
        ("own", {"owner_id": str(ada.pk), "visibility": "'private'"}),
    ):
        names = {"name": f"'{half} ' || n.i", "created_at": earlier("n.i")}
        copies(first, Collection.objects.filter(pk=first.pk), COLLECTIONS // 2, **names, **values)
    template = Document.objects.create(
        collection=first,
        title="Rule",
        file_name="rule.md",
        media_type="text/markdown",
        size_bytes=2000,
        content_hash="0",
        status="ready",
        progress=1.0,
        chunk_count=chunks,
        word_count=300,
        uploaded_by=ada,
        tags=["tag"],
    )
    columns = {
        "collection_id": "p.id",
        "title": "'Rule ' || n.i || ' of ' || p.name",
        "file_name": "'rule-' || n.i || '.md'",
        "content_hash": new_text(),
        "department": "'department ' || (n.i % 20)",
        "doc_type": "'type ' || (n.i % 8)",
        "policy_year": "2000 + (n.i % 25)",
        "size_bytes": "1000 + n.i",
        "created_at": earlier("n.i * 60"),
    }
    collections = Collection.objects.exclude(pk=first.pk).order_by("name")
    large = Collection.objects.filter(pk__in=collections.values("pk")[:LARGE])
    copies(template, collections, documents * 3 // 4 // COLLECTIONS, **columns)
    copies(template, large, documents // 4 // LARGE, start=documents, **columns)
    piece = Chunk.objects.create(
        pk=template.pk,
        document=template,
        seq=0,
        text=WORDS * 5,
        terms=WORDS,
        token_count=80,
        indexed=True,
        embedded=True,
    )
    copies(piece, Document.objects.exclude(pk=template.pk), chunks, document_id="p.id", seq="n.i")
    job = IngestJob.objects.create(document=template, user=ada, state="done")
    copies(job, Document.objects.exclude(pk=template.pk), 1, document_id="p.id")


def _make_conversations(ada: Any) -> None:
    from benchmarks.many_rows import copies, earlier
    from chat.models import AnswerReview, Message, Session

    session = Session.objects.create(user=ada, title="Loans")
    moments = {"created_at": earlier("n.i * 60"), "updated_at": earlier("n.i * 60")}
    copies(
        session,
        Session.objects.filter(pk=session.pk),
        CONVERSATIONS,
        title="'Conversation ' || n.i",
        **moments,
    )
    question = Message.objects.create(session=session, role="user", text="How many books?")
    answer = Message.objects.create(
        session=session,
        role="assistant",
        reply_to=question,
        text=WORDS * 3,
        decision="NO_ANSWER",
        model="m",
        workflow="corrective",
    )
    others = Session.objects.exclude(pk=session.pk)
    copies(question, others, 1, session_id="p.id", created_at="p.created_at")
    questions = Message.objects.filter(role="user").exclude(pk=question.pk)
    copies(
        answer,
        questions,
        1,
        session_id="p.session_id",
        reply_to_id="p.id",
        created_at="p.created_at",
    )
    review, _ = AnswerReview.objects.update_or_create(
        message=answer,
        defaults={
            "session": session,
            "user": ada,
            "created_at": answer.created_at,
            "no_answer": True,
            "severity": 3,
        },
    )
    answers = Message.objects.filter(role="assistant").exclude(pk=answer.pk)
    copies(
        review, answers, 1, message_id="p.id", session_id="p.session_id", created_at="p.created_at"
    )


def _make_overdue() -> None:
    from datetime import date

    from chat.models import Message, Source
    from retrieval.models import Document

    overdue = Document.objects.filter(policy_year=2003, department="department 3")
    overdue.update(review_due=date(2025, 1, 1))
    documents = list(overdue.values_list("pk", flat=True))
    answers = Message.objects.filter(role="assistant").values_list("pk", flat=True)
    sources = (
        Source(
            message_id=answer,
            marker=marker,
            document_id=documents[(number * CITED + marker) % len(documents)],
            chunk_id=str(number),
            title="Rule",
            text=WORDS,
            cited=True,
        )
        for number, answer in enumerate(answers)
        for marker in range(1, CITED + 1)
    )
    while batch := list(islice(sources, 5000)):
        Source.objects.bulk_create(batch)


def _make_desk(ada: Any, reader: Any) -> None:
    from allauth.usersessions.models import UserSession
    from django.contrib.admin.models import LogEntry
    from django.contrib.auth.models import User
    from django.contrib.sessions.models import Session as Browser
    from django.utils import timezone

    from benchmarks.many_rows import copies, earlier
    from chat.models import AnswerReview, DeskEvent
    from feedback.models import GapQuestion, KnowledgeGap
    from retrieval.models import Memory

    person = User.objects.filter(pk=ada.pk)
    reviews = AnswerReview.objects.order_by("pk")
    event = DeskEvent.objects.create(by=ada, by_name="ada", kind="read", answer=reviews.first())
    copies(event, reviews[:EVENTS], 1, answer_id="p.id", at="p.created_at")
    LogEntry.objects.log_actions(ada.pk, [reader], 2, change_message="Role", single_object=True)
    copies(LogEntry.objects.get(), person, EVENTS, action_time=earlier("n.i * 60"))
    gap = KnowledgeGap.objects.create()
    copies(gap, person, GAPS - 1)
    asked = GapQuestion.objects.create(gap=gap, message=reviews[0].message, key="0")
    copies(asked, reviews[1:], 1, message_id="p.message_id", gap_id=f"(p.id % {GAPS}) + {gap.pk}")
    memory = Memory.objects.create(user=ada, question="How many books?", text=WORDS)
    copies(memory, person, 500, updated_at=earlier("n.i"))
    expires = timezone.now() + timezone.timedelta(days=14)
    for number in range(BROWSERS):
        browser = Browser.objects.create(
            session_key=f"{number:032}", session_data="", expire_date=expires
        )
        UserSession.objects.create(
            user=ada, ip="127.0.0.1", session_key=browser.session_key, user_agent="Firefox"
        )


# ------------------------------------------------------------------------------------------------ measuring
def addresses() -> list[str]:
    from chat.models import Message
    from feedback.models import KnowledgeGap
    from retrieval.models import Document

    document = Document.objects.order_by("-created_at").first()
    answer = Message.objects.filter(role="assistant").order_by("-created_at").first()
    gap = KnowledgeGap.objects.order_by("pk").first()
    assert document and answer and gap
    ids = {
        "document": document.pk,
        "session": answer.session_id,
        "answer": answer.pk,
        "gap": gap.pk,
    }
    return [address.format(**ids) for address in ADDRESSES.split()]


def calls(ada: Any) -> dict[str, Any]:
    """Reads that each question makes, by what they are called here."""
    from asgiref.sync import async_to_sync

    from retrieval.knowledge.chunk_store import DatabaseChunkStore
    from retrieval.knowledge.scopes import scope_for
    from retrieval.knowledge.selectors import default_documents

    return {
        "(a question) scope": lambda: scope_for(user=ada),
        "(a question) vocabulary": lambda: async_to_sync(DatabaseChunkStore().vocabulary)(
            scope_for(user=ada)
        ),
        "(the chat page) documents": lambda: default_documents(ada).count(),
    }


def measure(ada: Any, options: argparse.Namespace) -> list[Row]:
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    client.force_login(ada)
    rows = []
    for address in addresses():
        rows.append(_row(address, lambda address=address: client.get(address), options))  # type: ignore[misc]
    rows += [_row(name, call, options) for name, call in calls(ada).items()]
    return [row for row in rows if row]


def _row(name: str, call: Any, options: argparse.Namespace) -> Row:
    if options.only and options.only not in name:
        return {}
    with statements() as made:
        answer = call()
    times = []
    for _ in range(options.runs):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1000)
    slowest = max(made, default=(0.0, "", None))
    if options.explain and slowest[1]:
        _explain(name, slowest[1], slowest[2])
    status = getattr(answer, "status_code", None)
    return {
        "page or call": name if status in (200, None) else f"{name} ({status})",
        "best ms": min(times),
        "ms": median(times),
        "queries": len(made),
        "slowest ms": slowest[0],
    }


@contextmanager
def statements() -> Iterator[list[tuple[float, str, Any]]]:
    """What is executed meanwhile, on whichever connection: ms, SQL, parameters."""
    from django.db.backends.utils import CursorWrapper

    made: list[tuple[float, str, Any]] = []
    execute = CursorWrapper.execute

    def timed(cursor: Any, sql: str, params: Any = None) -> Any:
        begun = time.perf_counter()
        result = execute(cursor, sql, params)
        made.append(((time.perf_counter() - begun) * 1000, sql, params))
        return result

    CursorWrapper.execute = timed  # type: ignore[method-assign]
    try:
        yield made
    finally:
        CursorWrapper.execute = execute  # type: ignore[method-assign]


def _explain(name: str, sql: str, params: Any) -> None:
    from django.db import connection

    how = (
        "EXPLAIN (ANALYZE, BUFFERS)" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    )
    print(f"\n{name}\n{sql[:3000]}")
    with connection.cursor() as cursor:
        cursor.execute(f"{how} {sql}", params)
        for row in cursor.fetchall():
            print("   ", *row)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="How long lists take where there is much of everything."
    )
    parser.add_argument(
        "--database", default="", help="a PostgreSQL server, where a database is made and dropped"
    )
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--chunks", type=int, default=5, help="of each document")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="only what holds these words")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, a_database(options.database) as database:
        set_up(folder, database)
        begun = time.perf_counter()
        ada = make_site(options.documents, options.chunks)
        made_s = time.perf_counter() - begun
        rows = measure(ada, options)
    show(
        rows, as_json=options.json, notes=[f"{options.documents} documents, made in {made_s:.0f} s"]
    )


if __name__ == "__main__":
    main()
