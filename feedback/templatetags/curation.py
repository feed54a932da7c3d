"""For the desk's page of an answer: what curators have made of it."""

from __future__ import annotations

from uuid import UUID

from django import template
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from chat.models import Source
from feedback.curation.golden import golden_list
from feedback.models import GoldenQuestion, ManualBoost

MADE_SHOWN = 10
register = template.Library()


@register.simple_tag
def made_of(message_id: UUID, user: User) -> list[dict[str, str]]:
    """Its golden questions that this person may know, and the boosts by hand in force on what it was shown: what was
    made (`text`), and where a POST takes it back (`undo`)."""
    expected = {
        GoldenQuestion.Expected.ANSWER: _("Test question: should find these documents"),
        GoldenQuestion.Expected.CLARIFY: _("Test question: should ask back"),
        GoldenQuestion.Expected.NO_ANSWER: _("Test question: should have no answer"),
    }
    made = [
        {
            "text": expected[GoldenQuestion.Expected(row.expects)],
            "undo": reverse("review_golden_undo", args=[row.pk]),
        }
        for row in golden_list(user=user)
        .filter(message=message_id)
        .order_by("created_at")[:MADE_SHOWN]
    ]
    shown = Source.objects.filter(message=message_id, document_id__isnull=False).values_list(
        "document_id", flat=True
    )
    for boost in ManualBoost.in_force().filter(document__in=list(shown))[:MADE_SHOWN]:
        line = _("Hidden: {title}") if boost.hide else _("Rank × {factor}: {title}")
        text = line.format(title=boost.document.title[:60], factor=f"{boost.multiplier:g}")
        if boost.question:
            text = _("{made}, for “{question}”").format(made=text, question=boost.question[:60])
        made.append({"text": text, "undo": reverse("review_boost_end", args=[boost.pk])})
    return made
