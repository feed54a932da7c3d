"""The e-mail to administrators of the desk when a run is worse than the last good one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from chat.review.roles import BACKEND, PERMISSIONS
from feedback.models import EvaluationRun
from ragsite.accounts.letters import Letter, is_confirmed, letter_queue, site_origin
from ragsite.models import Account
from retrieval.evaluation.stages import DECISIONS

KIND = "evaluation_worse"


def alarm_tell(run: EvaluationRun) -> None:
    """Once the transaction is committed."""
    transaction.on_commit(partial(letter_queue, KIND, run_id=str(run.pk)), robust=True)


def alarm_letters(*, run_id: str, language: str) -> Iterator[Letter]:
    """To each administrator of the desk who has a confirmed address; none where somebody has acknowledged it."""
    run = EvaluationRun.objects.select_related("set").filter(pk=UUID(run_id), alarm=True, acknowledged_at=None).first()
    if run is None:
        return
    people = User.objects.with_perm(PERMISSIONS["administer"], backend=BACKEND).filter(is_staff=True, is_active=True)
    accounts = Account.objects.select_related("user").filter(user__in=people).order_by("pk")
    for account in accounts:
        if not is_confirmed(account):
            continue
        reader = account.language or language
        with translation.override(reader):
            yield Letter(
                to=account.confirmed_email,
                language=reader,
                subject=_("Search has got worse: %(name)s") % {"name": run.set.title},
                paragraphs=(
                    _("The latest evaluation of “%(name)s” on Ragsite is worse than the last good one, by more than "
                      "chance would explain.") % {"name": run.set.title},
                    *(_fell(change) for change in run.worse),
                    _("The page shows which questions fell, and what was changed on the site in between. No further "
                      "letter comes until a run has been good again."),
                ),
                button=_("Look at the run"),
                url=site_origin() + reverse("review_evaluation_run", args=[run.pk]),
            )  # fmt: skip


def _fell(change: dict[str, object]) -> str:
    before, after = (f"{float(str(change[name])):.3f}" for name in ("before", "after"))
    values = {"before": before, "after": after, "worse": change["worse"], "questions": change["questions"]}
    if change["stage"] == DECISIONS:
        return _("Right decisions: %(before)s, now %(after)s; %(worse)s of %(questions)s questions fell.") % values
    return _("Stage %(stage)s, nDCG: %(before)s, now %(after)s; %(worse)s of %(questions)s questions fell.") % {
        "stage": change["stage"], **values,
    }  # fmt: skip
