"""Conversations as if they had been held, for measuring pages: `python -m benchmarks.long_conversation`.

Run in a site's environment, with the id of a PDF that the site has read. Prints the ids of the conversations as JSON:
`long` with --messages messages, `cited` with one answer for each of --pages, which cites a sentence of that page.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

PARAGRAPHS = (
    "The library lends **books** for four weeks, and each loan can be renewed twice, unless another reader waits [1].",
    "- First, the reader asks at the desk.\n- Then the desk looks up the record, as `records.find(reader)` does.\n"
    "- At last the loan is written down, with its day.",
    "| Kind | Weeks | Renewals |\n|---|---:|---:|\n| Book | 4 | 2 |\n| Journal | 1 | 0 |\n| Film | 2 | 1 |",
    "```python\ndef fee(days: int) -> float:\n    return min(0.2 * days, 20.0)\n```",
    "The mean delay is $\\bar d = \\frac{1}{n}\\sum_{i=1}^{n} d_i$, which grows with the number of readers.",
    "### What follows\n\nWhoever is late pays twenty cents a day, at most twenty euros; not on holidays, though [1].",
)


def make_long(user: Any, chunk: Any, messages: int) -> str:
    """A conversation of that many messages, every answer with most of what an answer may have."""
    from chat.models import Session

    session = Session.objects.create(user=user, title="A long conversation")
    asked = None
    for turn in range(messages // 2):
        text = "\n\n".join(PARAGRAPHS[(turn + at) % len(PARAGRAPHS)] for at in range(4))
        question = f"Question {turn + 1}: what does the library ask of a reader who is late?"
        asked = _turn(session, question, text, [chunk], after=asked)
    return str(session.pk)


def make_cited(user: Any, document_id: str, pages: int) -> str:
    """A conversation whose answers each cite the first sentence of another page."""
    from chat.models import Session
    from retrieval.models import Chunk

    session = Session.objects.create(user=user, title="Citations of many pages")
    count = Chunk.objects.filter(document=document_id).order_by("-page").values_list("page", flat=True)[0]
    asked = None
    for number in range(pages):
        page = 2 + number * (count - 4) // pages
        chunk = Chunk.objects.filter(document=document_id, page=page).order_by("seq")[0]
        sentence = next(line for line in chunk.text.split("\n") if len(line) > 40)
        asked = _turn(session, f"What stands on page {page}?", f"{sentence} [1]", [chunk], after=asked)
    return str(session.pk)


def _turn(session: Any, question: str, answer: str, chunks: list[Any], *, after: Any) -> Any:
    from chat.messages.data import source_spans
    from chat.models import DecisionStep, Message, Source
    from retrieval.engine import values
    from retrieval.knowledge.selectors import stored_chunk

    asked = Message.objects.create(session=session, role="user", text=question, follows=after)
    said = Message.objects.create(
        session=session, role="assistant", reply_to=asked, text=answer, decision="ANSWER", workflow="corrective",
        model="test-chat:latest", usage={"llm_calls": 2, "total_ms": 2100, "first_token_ms": 400},
    )  # fmt: skip
    for marker, chunk in enumerate(chunks, 1):
        cited = values.Source(marker=marker, chunk=stored_chunk(chunk), scores=values.Scores(), cited=True)
        spans = source_spans(cited, answer=answer, grounding=())
        Source.objects.create(
            message=said, marker=marker, document_id=chunk.document_id, chunk_id=str(chunk.pk), cited=True,
            title=chunk.document.title, file_name=chunk.document.file_name, page=chunk.page, heading=chunk.heading,
            text=chunk.text, scores={"dense": 0.7, "bm25": 9.1, "fused": 0.03, "final": 0.8}, spans=spans,
        )  # fmt: skip
    DecisionStep.objects.bulk_create(
        DecisionStep(message=said, seq=seq, name=name, status="ok", summary="Done.", duration_ms=12)
        for seq, name in enumerate(("route", "retrieve", "fuse", "rerank", "assess", "generate", "verify"), 1)
    )
    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", required=True)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--pages", type=int, default=40)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    import django

    django.setup()
    from django.contrib.auth.models import User

    from retrieval.models import Chunk

    admin = User.objects.get(username="admin")
    chunk = Chunk.objects.filter(document=options.document).order_by("seq")[5]
    made = {
        "long": make_long(admin, chunk, options.messages),
        "cited": make_cited(admin, options.document, options.pages),
    }
    print(json.dumps(made))


if __name__ == "__main__":
    main()
