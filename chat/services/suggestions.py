"""Questions to start with. Each has an answer here, which whoever it is shown to may read."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef

from chat.feedback import get_feedback
from chat.models import AnswerReview, Message, Source
from retrieval.engine.text.analysis import detect_language
from retrieval.knowledge.selectors import default_documents
from retrieval.knowledge.services.samples import sample_questions

SHOWN = 6
LOOKED_AT = 50
GOOD = 4  # of 5


def suggestions(*, user: User, language: str) -> list[dict[str, str]]:
    """`{"text", "language"}`: those with a checked answer, the user's own that were rated well, then the sample's; only
    those in the reader's language, where there are any."""
    answered = [*get_feedback().checked_questions(user=user, limit=LOOKED_AT), *_rated_well(user)]
    offered = [{"text": text, "language": detect_language(text)} for text in dict.fromkeys(answered)]
    offered += [entry for entry in sample_questions(user) if entry["text"] not in answered]
    near = [entry for entry in offered if _base(entry["language"]) == _base(language or "en")]
    near.sort(key=lambda entry: entry["language"].lower() != language.lower())
    return (near or offered)[:SHOWN]


def _base(language: str) -> str:
    return language.lower().split("-")[0]


def _rated_well(user: User) -> list[str]:
    """First questions of the user's conversations, whose answers cite only what is searched for the user now."""
    gone = Source.objects.filter(message=OuterRef("message"), cited=True).exclude(
        document_id__in=default_documents(user).values("pk")
    )
    cited = Source.objects.filter(message=OuterRef("message"), cited=True)
    rows = AnswerReview.objects.filter(Exists(cited), ~Exists(gone), user=user, worst_score__gte=GOOD)
    rows = rows.filter(decision=Message.Decision.ANSWER, message__superseded=False, message__reply_to__follows=None)
    return list(rows.order_by("-created_at").values_list("message__reply_to__text", flat=True)[:LOOKED_AT])
