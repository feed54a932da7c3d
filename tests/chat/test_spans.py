"""Where cited sentences stand: in the source's text, and of a PDF on its page."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from chat.messages.data import message_data
from chat.runs.answers import RunOutcome, answer_finish
from retrieval.engine.values import Answer, AnswerSource, GroundedSentence, Scores, SentenceEvidence
from retrieval.knowledge.chunk_store import stored_chunk
from retrieval.models import Document
from tests.factories import MessageFactory
from tests.retrieval.knowledge.ingest.files import pdf_bytes
from tests.retrieval.read_documents import read_document_row

pytestmark = pytest.mark.django_db
PAGES = [
    "Loans\nStudents may borrow ten books.\nBooks are kept for four\nweeks, and can be",
    "renewed twice.\nFines.",
]
TEN = "Students may borrow ten books."


@pytest.fixture
def document(settings: Any, tmp_path: Path) -> Document:
    settings.MEDIA_ROOT = tmp_path / "uploads"
    return read_document_row(pdf_bytes(PAGES), "loans.pdf")


def cited(document: Document) -> AnswerSource:
    return AnswerSource(
        marker=1, chunk=stored_chunk(document.chunks.first()), scores=Scores(), cited=True
    )


def test_a_finished_answer_keeps_them_and_its_message_tells_them(document: Document) -> None:
    run = uuid.uuid4()
    message = MessageFactory(lease_token=run, status="streaming")
    source = cited(document)
    at = source.chunk.text.index(TEN)
    evidence = (SentenceEvidence(1, at, at + len(TEN)),)
    sentence = GroundedSentence(
        sentence="Ten are lent [1].", start=0, end=17, markers=(1,), evidence=evidence
    )
    written = Answer(
        decision="ANSWER", text="Ten are lent [1].", sources=(source,), grounding=(sentence,)
    )
    outcome = RunOutcome(status="complete", answer=written)
    assert answer_finish(message_id=message.pk, run_id=run, outcome=outcome)
    document.delete()
    message.refresh_from_db()
    [told] = message_data(message)["sources"]
    [span] = told["spans"]
    assert told["text"][span["start"] : span["end"]] == TEN and span["page"] == 1
    [[left, top, right, bottom]] = span["boxes"]
    assert (
        left == pytest.approx(60 / 612, abs=0.01)
        and 0.2 < right - left < 0.4
        and 0.005 < bottom - top < 0.04
    )
