"""How long accounts keep what, for `ragsite.core.retention`: ages that are fixed. The hourly task deletes these too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from ragsite.accounts.personal_data_jobs import RECORD_KEPT, personal_data_purge
from ragsite.accounts.sign_in_limits import ORIGIN_KEPT
from ragsite.core.retention import Kind, erased, use_kind
from ragsite.core.wording import worded
from ragsite.models import AccountSession, AttemptCounter, KnownOrigin, PersonalDataJob


def connect() -> None:
    """Once, when the site starts."""
    use_kind(
        Kind(
            name="sign_ins",
            title=worded("Signed-in browsers"),
            rule=worded("Until their cookie ends, two weeks after they signed in."),
            moment="expire_date",
            rows=sign_ins_over,
            erase=_sign_ins_erase,
        )
    )
    use_kind(
        Kind(
            name="attempts",
            title=worded("Counters of attempts to sign in"),
            rule=worded("Until they count no longer, within minutes or an hour."),
            moment="expires_at",
            rows=attempts_over,
            erase=lambda before: erased(lambda: attempts_over(before)),
        )
    )
    use_kind(
        Kind(
            name="origins",
            title=worded("Places that an account has signed in from"),
            rule=worded("Since they were last used; as keyed hashes."),
            fixed=ORIGIN_KEPT,
            moment="last_used_at",
            rows=origins_over,
            erase=lambda before: erased(lambda: origins_over(before)),
        )
    )
    use_kind(
        Kind(
            name="exports",
            title=worded("Exports of a person's data"),
            rule=worded("A day after they were made, with their file."),
            moment="expires_at",
            rows=exports_over,
            erase=_exports_erase,
        )
    )
    use_kind(
        Kind(
            name="deletions",
            title=worded("Records that a person's data were deleted"),
            rule=worded("Since it was done; they name no person, only the account's number."),
            fixed=RECORD_KEPT,
            moment="finished_at",
            rows=records_over,
            erase=lambda before: erased(lambda: records_over(before)),
        )
    )


def sign_ins_over(before: datetime) -> QuerySet[Any]:
    return AccountSession.objects.filter(expire_date__lt=before)


def _sign_ins_erase(before: datetime) -> Iterator[int]:
    yield from erased(lambda: sign_ins_over(before))


def attempts_over(before: datetime) -> QuerySet[Any]:
    return AttemptCounter.objects.filter(expires_at__lt=before)


def origins_over(before: datetime) -> QuerySet[Any]:
    return KnownOrigin.objects.filter(last_used_at__lt=before)


def exports_over(before: datetime) -> QuerySet[Any]:
    return PersonalDataJob.objects.filter(kind=PersonalDataJob.Kind.EXPORT, expires_at__lt=before)


def _exports_erase(before: datetime) -> Iterator[int]:
    while exports_over(before).exists():
        yield personal_data_purge(now=before)


def records_over(before: datetime) -> QuerySet[Any]:
    ended = Q(state__in=[PersonalDataJob.State.DONE, PersonalDataJob.State.FAILED])
    return PersonalDataJob.objects.filter(ended, kind=PersonalDataJob.Kind.DELETION, finished_at__lt=before)
