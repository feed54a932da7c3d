"""Which questions were not answered well, and the knowledge gaps that they make. For staff."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q

from chat.models import Message
from feedback.curation.gaps import Unanswered, Vector
from feedback.models import QuestionVector, Rating
from feedback.models.ratings import BAD_SCORE
from feedback.rounds.evidence import searched_for
from feedback.rounds.questions import signature, vector_decode
from retrieval.models import SITE
from retrieval.selectors import collection_addresses
from retrieval.text.analysis import analyze, query_terms

GAP_DAYS = 90  # knowledge gaps are made of questions of the last days
GAP_QUESTIONS = 5000  # the newest are looked at, not more
GAP_OVERLAP = 0.45  # questions that share this much of their terms, weighted by rarity, are one gap …
GAP_COSINE = 0.8  # … or whose embeddings have this cosine, where both have one
ONLY_STYLE = [Rating.Tag.STYLE.value]  # the knowledge was there
MAX_QUESTION_CHARS = 1000
MAX_DAYS = 3650
MAX_TERMS = 96
ANY_COLLECTION = ""  # asked of all that the user may read
CSV_COLUMNS = (
    "collection", "question", "count", "people", "no_answer", "badly_rated", "failed", "first_seen", "last_seen",
    "terms", "examples",
)  # fmt: skip


def unanswered_questions(since: Any, limit: int) -> Iterator[Unanswered]:
    """The newest `limit`; one that was asked of two collections comes twice."""
    bad = Rating.objects.filter(message=OuterRef("pk"), source=None, score__lte=BAD_SCORE).exclude(tags=ONLY_STYLE)
    answers = Message.objects.filter(role=Message.Role.ASSISTANT, superseded=False, created_at__gte=since)
    poor = answers.annotate(bad=Exists(bad)).filter(
        Q(decision=Message.Decision.NO_ANSWER) | Q(status=Message.Status.FAILED) | Q(bad=True), reply_to__isnull=False
    )
    poor = poor.filter(request__task__isnull=True)  # that a document holds no deadline is no gap
    rows = list(
        poor.order_by("-created_at", "pk").values(
            "pk", "decision", "status", "bad", "reply_to__text", "request", "created_at", "session__user_id"
        )[:limit]
    )
    searched = searched_for([row["pk"] for row in rows])
    texts = {row["pk"]: (searched.get(row["pk"]) or row["reply_to__text"])[:MAX_QUESTION_CHARS] for row in rows}
    words = {text: query_terms(text)[:MAX_TERMS] for text in set(texts.values())}
    vectors = _vectors(words)
    collections = _collections([row["request"] for row in rows])
    for row, asked_of in zip(rows, collections, strict=True):
        text = texts[row["pk"]]
        if not text.strip():
            continue
        reasons = {
            "no_answer": row["decision"] == Message.Decision.NO_ANSWER,
            "failed": row["status"] == Message.Status.FAILED,
            "badly_rated": row["bad"],
        }
        for collection in asked_of:
            yield Unanswered(
                text=" ".join(text.split()),
                collection=collection,
                reasons=frozenset(reason for reason, holds in reasons.items() if holds),
                asker=row["session__user_id"],
                at=row["created_at"],
                terms=tuple(dict.fromkeys(analyze(text)[:MAX_TERMS])),
                words=tuple(dict.fromkeys(words[text])),
                vectors=vectors.get(text, {}),
                message=row["pk"],
            )


def _collections(requests: Sequence[Any]) -> list[list[str]]:
    """What each question was asked of, whatever the asker called it: the same collection under one name for all."""
    kept = [request if isinstance(request, dict) else {} for request in requests]
    addresses = collection_addresses({key for request in kept for key in request.get("collection_ids") or ()})
    collections = []
    for request in kept:
        names = [addresses[key].removeprefix(SITE) for key in request.get("collection_ids") or () if key in addresses]
        names = names or [str(name) for name in request.get("collections") or ()]
        collections.append(list(dict.fromkeys(names)) or [ANY_COLLECTION])
    return collections


def _vectors(words: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Vector]]:
    """Text → its vectors, for questions that a round has embedded."""
    texts: dict[str, list[str]] = defaultdict(list)
    for text in words:
        texts[signature(text)].append(text)
    vectors: dict[str, dict[str, Vector]] = defaultdict(dict)
    rows = QuestionVector.objects.filter(question__signature__in=list(texts))
    for key, model, dim, data in rows.values_list("question__signature", "embedding_model", "embedding_dim", "vector"):
        for text in texts[key]:
            vectors[text][f"{model}/{dim}"] = vector_decode(data)
    return vectors
