"""What a remembered fact came from: with its conversation it goes, and with an answer that was found bad."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from retrieval.engine.values import Exchange
from retrieval.memory.services import (
    answer_memories_forget,
    conversation_memories_forget,
    memory_remember,
)
from retrieval.models import Memory, MemoryOrigin
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue")]
FIRST, SECOND = str(uuid.uuid4()), str(uuid.uuid4())


@pytest.fixture
def owner() -> Any:
    return UserFactory()


def remember(
    owner: Any, conversation: str, *, question: str = "What is the fee?", fact: str = "It is EUR 5."
) -> str:
    """The id of the answer that said so."""
    answer = str(uuid.uuid4())
    exchange = Exchange(
        question=question, fact=fact, conversation_id=conversation, answer_id=answer
    )
    assert memory_remember(user_id=owner.pk, exchange=exchange) in ("added", "updated")
    return answer


def texts() -> set[str]:
    return set(Memory.objects.values_list("text", flat=True))


def test_what_another_conversation_said_as_well_stays(owner: Any) -> None:
    remember(owner, FIRST)
    remember(owner, SECOND)
    assert conversation_memories_forget(conversation_id=uuid.UUID(FIRST)) == 0
    assert texts() == {"It is EUR 5."}
    assert conversation_memories_forget(conversation_id=uuid.UUID(SECOND)) == 1


def test_a_bad_answer_is_forgotten_though_an_older_one_said_the_same(owner: Any) -> None:
    remember(owner, FIRST)
    bad = remember(owner, SECOND, fact="It is EUR 7.")
    assert answer_memories_forget(answer_id=uuid.UUID(bad)) == 1
    assert texts() == set()


def test_a_bad_answer_whose_words_were_replaced_is_only_no_origin_any_more(owner: Any) -> None:
    bad = remember(owner, FIRST)
    good = remember(owner, SECOND, fact="It is EUR 7.")
    assert answer_memories_forget(answer_id=uuid.UUID(bad)) == 0
    assert texts() == {"It is EUR 7."}
    assert [str(one.answer_id) for one in MemoryOrigin.objects.all()] == [good]
