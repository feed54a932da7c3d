"""The session engine: Django's own, in the database, with the account of each session in a column beside its data."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.db import DatabaseError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from ragsite.models import DEVICE, SIGNED_IN_AT, AccountSession

SEEN_NOTED_EVERY = timedelta(minutes=5)  # so that reading does not write each time
logger = logging.getLogger(__name__)


class SessionStore(DatabaseSessionStore):
    """SESSION_ENGINE's store."""

    @classmethod
    def get_model_class(cls) -> type[AccountSession]:
        return AccountSession

    def _get_session_from_db(self) -> Any:
        session = super()._get_session_from_db()  # type: ignore[misc]
        if (seen := _to_be_noted(session)) is not None:
            try:
                seen.update(last_seen_at=timezone.now())
            except DatabaseError as error:  # noting the visit may fail; the visit itself may still succeed
                logger.warning("the use of a session was not noted: %s", error)
        return session

    async def _aget_session_from_db(self) -> Any:
        session = await super()._aget_session_from_db()  # type: ignore[misc]
        if (seen := _to_be_noted(session)) is not None:
            try:
                await seen.aupdate(last_seen_at=timezone.now())
            except DatabaseError as error:
                logger.warning("the use of a session was not noted: %s", error)
        return session

    def create_model_instance(self, data: Any) -> AccountSession:
        return _of_account(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: Any) -> AccountSession:
        return _of_account(await super().acreate_model_instance(data), data)


def _of_account(session: Any, data: Any) -> AccountSession:
    """With the account that is signed in, if any."""
    assert isinstance(session, AccountSession)  # get_model_class says so
    account_id = data.get(SESSION_KEY)
    session.device = str(data.get(DEVICE, ""))[:200]
    session.signed_in_at = parse_datetime(data.get(SIGNED_IN_AT, ""))
    session.last_seen_at = timezone.now()
    session.account_id = None if account_id is None else User._meta.pk.to_python(account_id)
    return session


def _to_be_noted(session: AccountSession | None) -> Any:
    """The row, where it is time to note that it was seen."""
    if session is None or session.account_id is None:
        return None
    if session.last_seen_at and timezone.now() - session.last_seen_at < SEEN_NOTED_EVERY:
        return None
    return AccountSession.objects.filter(pk=session.pk)
