"""Reads of conversations: what is shown of a message comes along."""

from __future__ import annotations

from typing import Any

import pytest

from chat import selectors
from tests.factories import MessageFactory, SessionFactory, SourceFactory


@pytest.mark.django_db
def test_messages_come_with_what_is_shown_of_them_in_a_fixed_number_of_queries(
    django_assert_num_queries: Any,
) -> None:
    session: Any = SessionFactory()
    for _ in range(3):
        SourceFactory(message=MessageFactory(session=session))
    messages = list(selectors.message_list(user=session.user, session=session))
    with django_assert_num_queries(0):
        assert [
            len(message.sources.all()) + len(message.decision_steps.all()) for message in messages
        ] == [1, 1, 1]
        assert {message.session.pk for message in messages} == {session.pk}
