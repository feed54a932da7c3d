"""What is remembered from one answer to the next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedFact:
    """What an earlier answer said to this user. score: how near it is to what was asked, unit of the store."""

    id: str
    question: str
    text: str
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What the memory holds for a question. `enabled`: the user lets answers be remembered. `degraded`: the reason
    why only words, not meaning, were looked for."""

    facts: tuple[RememberedFact, ...] = ()
    enabled: bool = True
    degraded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question, and what to remember of its answer.

    conversation_id, answer_id: UUIDs as text, by which it is withdrawn when either goes; empty: it comes from no
    conversation.
    """

    question: str
    fact: str
    conversation_id: str = ""
    answer_id: str = ""
