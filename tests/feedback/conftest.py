from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from chat.models import Message
from tests.factories import MessageFactory


@pytest.fixture
def answer(db: None) -> Message:
    return MessageFactory()


@pytest.fixture
def client(answer: Message) -> APIClient:
    """Signed in as the answer's owner."""
    client = APIClient()
    client.force_authenticate(answer.session.user)
    return client
