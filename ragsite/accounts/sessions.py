"""The session engine: Django's own, in the database, with the account of each session in a column beside its data."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore

from ragsite.models import AccountSession


class SessionStore(DatabaseSessionStore):
    """SESSION_ENGINE's store."""

    @classmethod
    def get_model_class(cls) -> type[AccountSession]:
        return AccountSession

    def create_model_instance(self, data: Any) -> AccountSession:
        return _of_account(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: Any) -> AccountSession:
        return _of_account(await super().acreate_model_instance(data), data)


def _of_account(session: Any, data: Any) -> AccountSession:
    """With the account that is signed in, if any."""
    assert isinstance(session, AccountSession)  # get_model_class says so
    account_id = data.get(SESSION_KEY)
    session.account_id = None if account_id is None else User._meta.pk.to_python(account_id)
    return session
