"""The session engine: Django's own, in the database, with the account of each session in a column beside its data."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore

from ragsite.models import AccountSession


class SessionStore(DatabaseSessionStore):
    @classmethod
    def get_model_class(cls) -> type[AccountSession]:
        return AccountSession

    def create_model_instance(self, data: Any) -> AccountSession:
        session: AccountSession = super().create_model_instance(data)
        session.account_id = _account_id(data)
        return session

    async def acreate_model_instance(self, data: Any) -> AccountSession:
        session: AccountSession = await super().acreate_model_instance(data)
        session.account_id = _account_id(data)
        return session


def _account_id(data: Any) -> int | None:
    """None: nobody is signed in."""
    stored = data.get(SESSION_KEY)
    return None if stored is None else int(User._meta.pk.to_python(stored))
