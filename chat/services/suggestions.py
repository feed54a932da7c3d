"""Questions to start with. Each has an answer here, which whoever it is shown to may read.

People with documents of their own are offered what stands in those: what a model asked of them and was found to answer,
else a heading of each of the latest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

from chat.feedback import get_feedback
from chat.models import AnswerReview, Message, Source, Starter
from chat.services.assistant_asked import documents_by_default
from chat.services.starters import starters
from ragsite.core.localized import translate
from retrieval.engine.text.languages import detect_language
from retrieval.engine.text.same_question import word_key
from retrieval.engine.values import HEADING_JOIN
from retrieval.knowledge.selectors import own_documents
from retrieval.knowledge.services.samples import sample_questions
from retrieval.models import Chunk, Document

SHOWN = 4
OWN_SHOWN = 4  # documents
LOOKED_AT = 50
MOST_CHARS = 200  # of a question
GOOD = 4  # of 5


def suggestions(*, user: User, language: str) -> list[dict[str, str]]:
    """`{"text", "language"}`: those with a checked answer, the user's own that were rated well, those of the test set,
    what a model was found to answer, then what the user's own documents say, else the sample's.

    First those in the reader's language; of the sample's, which come in several, only these. Each once, and only what
    is found where the site's default assistant looks.
    """
    feedback = get_feedback()
    searched = documents_by_default(user)
    answered = [
        *feedback.checked_questions(user=user, searched=searched, limit=LOOKED_AT),
        *_rated_well(user, searched),
        *feedback.test_questions(user=user, searched=searched, limit=LOOKED_AT),
    ]
    offered = [
        {"text": text, "language": detect_language(text)}
        for text in answered
        if len(text) <= MOST_CHARS
    ]
    made = _in_turns(list(starters(user=user).select_related("document__collection")[:LOOKED_AT]))
    offered += [{"text": row.text, "language": row.language} for row in made]
    if not any(row.document.collection.owner_id == user.pk for row in made):
        about = _about_own_documents(own_documents(user).filter(pk__in=searched.values("pk")))
        own = [{"text": text, "language": language} for text in about]
        offered += own or _of_the_samples(searched, language)
    offered.sort(key=lambda entry: _distance(entry["language"], language or "en"))
    return _each_once(offered)[:SHOWN]


def _each_once(offered: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The first of those in the same words."""
    by_words: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in offered:
        by_words.setdefault(word_key(entry["text"]), entry)
    return list(by_words.values())


def _in_turns(rows: Sequence[Starter]) -> list[Starter]:
    """One of each document, then their second ones."""
    before: Counter[object] = Counter()
    turns: list[tuple[int, Starter]] = []
    for row in rows:
        turns.append((before[row.document_id], row))
        before[row.document_id] += 1
    return [row for _, row in sorted(turns, key=lambda turn: turn[0])]


def _of_the_samples(searched: QuerySet[Document], language: str) -> list[dict[str, str]]:
    asked = sample_questions(searched)
    near = [entry for entry in asked if _distance(entry["language"], language or "en") < 2]
    return near or asked


def _distance(language: str, wanted: str) -> int:
    """0: the same; 1: its other script; 2: another language, or one that nobody knows."""
    if language.lower() == wanted.lower():
        return 0
    return 1 if _base(language) == _base(wanted) else 2


def _about_own_documents(documents: QuerySet[Document]) -> list[str]:
    """In the reader's language. The heading with most text below it, which the document surely says something about."""
    questions = []
    for document in documents.order_by("-created_at")[:OWN_SHOWN]:
        chunks = (
            Chunk.objects.filter(document=document)
            .exclude(heading="")
            .order_by("-token_count", "seq")
        )
        heading = chunks.values_list("heading", flat=True).first() or ""
        part = heading.split(HEADING_JOIN)[-1].strip()
        if part and part != document.title:
            questions.append(
                translate(
                    "What does “{title}” say about “{part}”?", title=document.title, part=part
                )
            )
        else:
            questions.append(translate("What is “{title}” about?", title=document.title))
    return questions


def _base(language: str) -> str:
    return language.lower().split("-")[0]


def _rated_well(user: User, searched: QuerySet[Document]) -> list[str]:
    """First questions of the user's conversations, whose answers cite only what is searched for the user now."""
    gone = Source.objects.filter(message=OuterRef("message"), cited=True).exclude(
        document_id__in=searched.values("pk")
    )
    cited = Source.objects.filter(message=OuterRef("message"), cited=True)
    rows = AnswerReview.objects.filter(
        Exists(cited), ~Exists(gone), user=user, worst_score__gte=GOOD
    )
    rows = rows.filter(
        decision=Message.Decision.ANSWER, message__superseded=False, message__reply_to__follows=None
    )
    return list(
        rows.order_by("-created_at").values_list("message__reply_to__text", flat=True)[:LOOKED_AT]
    )
