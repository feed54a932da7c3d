"""The e-mail to whom a knowledge gap is given, and when one of theirs is open again.

It holds nobody's question: these are users' words, which go with their conversations, and an e-mail stays. While the
broker is away a letter waits in the database (`ragsite.accounts.letters`); whatever becomes of it, the gap's page and
its history say the same.
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
from ragsite.accounts.letters import Letter, is_confirmed, letter_queue
from ragsite.models import Account

KIND = "gap_assigned"
TODO = (KnowledgeGap.State.OPEN, KnowledgeGap.State.IN_WORK)


def gap_tell(gap: KnowledgeGap, *, by: User | None, again: bool = False) -> None:
    """To its assignee, once the transaction is committed; never to who did it. by None: the site itself. again: it was
    theirs already, and is open again."""
    if gap.assignee_id is None or (by is not None and by.pk == gap.assignee_id):
        return
    letter = partial(
        letter_queue, KIND, gap_id=gap.pk, user_id=gap.assignee_id, by=by.get_username() if by else "", again=again
    )
    transaction.on_commit(letter, robust=True)


def gap_letters(
    *, gap_id: int, user_id: int, language: str, by: str = "", again: bool = False, origin: str = ""
) -> Iterator[Letter]:
    """None where the gap is somebody else's or done by now, or where this person has no confirmed address, or no place
    at the desk any more."""
    gap = KnowledgeGap.objects.filter(pk=gap_id, assignee=user_id, state__in=TODO, merged_into=None).first()
    account = Account.objects.select_related("user").filter(user=user_id).first()
    if gap is None or account is None or not is_confirmed(account):
        return
    if not people_at_the_desk().filter(pk=user_id).exists():
        return
    language = account.language or language
    with translation.override(language):
        yield Letter(
            to=account.confirmed_email,
            language=language,
            subject=_("A knowledge gap of yours is open again") if again else _("A knowledge gap was assigned to you"),
            paragraphs=tuple(_paragraphs(gap, by, again)),
            button=_("Look at the gap"),
            url=(origin or _site_origin()) + reverse("review_gap", args=[gap.pk]),
        )


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


def _site_origin() -> str:
    """Of a letter that no request asks for: the first trusted origin, else where the web server listens."""
    if settings.CSRF_TRUSTED_ORIGINS:
        return str(settings.CSRF_TRUSTED_ORIGINS[0]).rstrip("/")
    return f"http://{settings.SITE.host}:{settings.SITE.port}"
