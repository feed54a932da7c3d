"""The e-mail to administrators of the desk when a run is worse than the last good one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from chat.review.roles import BACKEND, PERMISSIONS
from feedback.models import EvaluationRun
from ragsite.accounts.choices import account_of
from ragsite.accounts.letters import Letter, confirmed_email, letter_queue, site_origin
from retrieval.evaluation.stages import DECISIONS


def alarm_tell(run: EvaluationRun) -> None:
    """Once the transaction is committed."""
    transaction.on_commit(partial(_send, run.pk), robust=True)


def _send(run_id: UUID) -> None:
    for letter in alarm_letters(run_id=run_id):
        letter_queue(letter)


def alarm_letters(*, run_id: UUID) -> Iterator[Letter]:
    """To each administrator of the desk who has a confirmed address; none where somebody has acknowledged it."""
    run = EvaluationRun.objects.select_related("set").filter(pk=run_id, alarm=True, acknowledged_at=None).first()
    if run is None:
        return
    people = User.objects.with_perm(PERMISSIONS["administer"], backend=BACKEND).filter(is_staff=True, is_active=True)
    for person in people.order_by("pk"):
        if not (address := confirmed_email(person)):
            continue
        with translation.override(account_of(person).language or settings.LANGUAGE_CODE):
            paragraphs = (
                _("The latest evaluation of “%(name)s” on Ragsite is worse than the last good one, by more than "
                  "chance would explain.") % {"name": run.set.title},
                *(_fell(change) for change in run.worse),
                _("The page shows which questions fell, and what was changed on the site in between. No further "
                  "letter comes until a run has been good again."),
                site_origin() + reverse("review_evaluation_run", args=[run.pk]),
            )  # fmt: skip
            subject = _("Search has got worse: %(name)s") % {"name": run.set.title}
            yield Letter(to=address, subject=subject, text="\n\n".join(paragraphs))


def _fell(change: dict[str, object]) -> str:
    before, after = (f"{float(str(change[name])):.3f}" for name in ("before", "after"))
    values = {"before": before, "after": after, "worse": change["worse"], "questions": change["questions"]}
    if change["stage"] == DECISIONS:
        return _("Right decisions: %(before)s, now %(after)s; %(worse)s of %(questions)s questions fell.") % values
    return _("Stage %(stage)s, nDCG: %(before)s, now %(after)s; %(worse)s of %(questions)s questions fell.") % {
        "stage": change["stage"], **values,
    }  # fmt: skip
