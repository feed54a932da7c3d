"""The e-mail to whom a knowledge gap is given, and when one of theirs is open again.

It holds nobody's question: these are users' words, which go with their conversations, and an e-mail stays. Whatever
becomes of it, the gap's page and its history say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import formats, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.review.roles import people_at_the_desk
from feedback.models import KnowledgeGap
from ragsite.accounts.choices import account_of
from ragsite.accounts.letters import Letter, confirmed_email, letter_queue, site_origin

TODO = (KnowledgeGap.State.OPEN, KnowledgeGap.State.IN_WORK)


def gap_tell(gap: KnowledgeGap, *, by: User | None, again: bool = False) -> None:
    """To its assignee, once the transaction is committed; never to who did it. by None: the site itself. again: it was
    theirs already, and is open again."""
    if gap.assignee_id is None or (by is not None and by.pk == gap.assignee_id):
        return
    send = partial(_send, gap.pk, gap.assignee_id, by=by.get_username() if by else "", again=again)
    transaction.on_commit(send, robust=True)


def _send(gap_id: int, user_id: int, *, by: str, again: bool) -> None:
    if letter := gap_letter(gap_id=gap_id, user_id=user_id, by=by, again=again):
        letter_queue(letter)


def gap_letter(*, gap_id: int, user_id: int, by: str = "", again: bool = False) -> Letter | None:
    """None where the gap is somebody else's or done by now, or where this person has no confirmed address, or no place
    at the desk any more."""
    gap = KnowledgeGap.objects.filter(pk=gap_id, assignee=user_id, state__in=TODO, merged_into=None).first()
    person = people_at_the_desk().filter(pk=user_id).first()
    if gap is None or person is None or not (address := confirmed_email(person)):
        return None
    with translation.override(account_of(person).language or settings.LANGUAGE_CODE):
        subject = _("A knowledge gap of yours is open again") if again else _("A knowledge gap was assigned to you")
        text = "\n\n".join([*_paragraphs(gap, by, again), site_origin() + reverse("review_gap", args=[gap.pk])])
        return Letter(to=address, subject=subject, text=text)


def _paragraphs(gap: KnowledgeGap, by: str, again: bool) -> Iterator[str]:
    if again and by:
        yield _("%(name)s has opened it again on Ragsite.") % {"name": by}
    elif again:
        yield _("It was closed, and Ragsite has opened it again.") + (
            f" {gap.get_reopened_display()}" if gap.reopened else ""
        )
    else:
        yield _("%(name)s has assigned it to you on Ragsite.") % {"name": by or "–"}
    yield ngettext(
        "%(count)s question on this subject was not answered.",
        "%(count)s questions on this subject were not answered.",
        gap.questions,
    ) % {"count": gap.questions}  # fmt: skip
    if gap.due:
        yield _("It is due on %(day)s.") % {"day": formats.date_format(gap.due, "DATE_FORMAT")}
    yield _("What was asked stands on its page alone, for who works at the review desk.")
