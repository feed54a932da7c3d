"""How answers to people's questions are counted (`benchmarks.real_questions`): pure functions, no site.

A set's fields are told in its PROVENANCE.md. A document is named as the set names it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import opencc

FOUND_AT = 8
DEPTHS = (3, 5, 8, 12)
SIMPLIFIED = opencc.OpenCC("t2s")
IGNORED = str.maketrans("", "", ",`")  # where key facts are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """documents: any one answers, or all together where `needs_all`. part: of the set, with documents of its own."""

    id: str
    text: str
    part: str
    answerable: bool
    documents: frozenset[str]
    key_facts: tuple[str, ...] = ()
    needs_all: bool = False
    clarify_ok: bool = False
    clarify: bool = False

    @property
    def clear(self) -> bool:
        """It is to be answered."""
        return self.answerable and not self.clarify

    def right(self, documents: Sequence[str] | set[str]) -> bool:
        found = self.documents & set(documents)
        return found == self.documents if self.needs_all else bool(found)

    def rank(self, documents: Sequence[str]) -> int | None:
        """From 1: how many of these, in their order, it takes."""
        return next(
            (count for count in range(1, len(documents) + 1) if self.right(documents[:count])), None
        )

    def stated(self, text: str) -> bool:
        said = folded(text)
        return any(folded(fact) in said for fact in self.key_facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a question. decision: empty where it failed. found, shown: documents of the passages, best first."""

    question: Question
    decision: str
    support: str | None = None
    text: str = ""
    shown: Sequence[str] = ()
    cited: Sequence[str] = ()
    found: Sequence[str] = ()
    first_token_ms: float | None = None
    rounds: int = 1
    calls: int = 1
    error: str = ""

    @property
    def answered(self) -> bool:
        """With the right document cited."""
        return self.decision == "ANSWER" and self.question.right(self.cited)

    @property
    def unconfirmed(self) -> bool:
        return self.decision == "ANSWER" and self.support == "none"


def read_questions(file: Path) -> list[Question]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [
        Question(
            id=row["id"],
            text=row["text"],
            part=row["id"].rpartition("-")[0],
            answerable=row["answerable"],
            documents=frozenset(row["documents"]),
            key_facts=tuple(row["key_facts"] or ()),
            needs_all=row.get("needs_all", False),
            clarify_ok=row.get("clarify_ok", False),
            clarify=row.get("expect") == "CLARIFY",
        )
        for row in rows
    ]


def folded(text: str) -> str:
    return str(SIMPLIFIED.convert(text)).casefold().translate(IGNORED)


def plain_decision(cited: Sequence[Any]) -> str:
    """Of an answer that comes without one: it refuses where it names no passage."""
    return "ANSWER" if cited else "NO_ANSWER"


# ------------------------------------------------------------------------------------------------ tables
def answers_row(outcomes: Sequence[Outcome]) -> dict[str, object]:
    clear = [outcome for outcome in outcomes if outcome.question.clear]
    found = [outcome for outcome in clear if is_found(outcome.question, outcome.found)]
    unanswerable = [outcome for outcome in outcomes if not outcome.question.answerable]
    unclear = [outcome for outcome in outcomes if outcome.question.clarify]
    unfair = [
        outcome
        for outcome in outcomes
        if not (outcome.question.clarify or outcome.question.clarify_ok)
    ]
    return {
        "clear": len(clear),
        f"found@{FOUND_AT}": share(clear, lambda one: is_found(one.question, one.found)),
        "found→cited": share(found, lambda one: one.answered),
        "cited": share(clear, lambda one: one.answered),
        "fact": share(
            clear, lambda one: one.decision == "ANSWER" and one.question.stated(one.text)
        ),
        "refused": share(clear, lambda one: one.decision == "NO_ANSWER"),
        "asked back": share(clear, lambda one: one.decision == "CLARIFY"),
        "shown": share(clear, lambda one: one.question.right(one.shown)),
        "right→not confirmed": counted(
            [one for one in found if one.answered], lambda one: one.unconfirmed
        ),
        "no answer→refused or not confirmed": counted(
            unanswerable, lambda one: one.decision == "NO_ANSWER" or one.unconfirmed
        ),
        "no answer→refused": counted(unanswerable, lambda one: one.decision == "NO_ANSWER"),
        "unclear→asked": counted(unclear, lambda one: one.decision == "CLARIFY"),
        "asked unfairly": counted(unfair, lambda one: one.decision == "CLARIFY"),
        "failed": sum(not outcome.decision for outcome in outcomes),
    }


def is_found(question: Question, documents: Sequence[str]) -> bool:
    return question.right(documents[:FOUND_AT])


def recall_row(ranked: Sequence[tuple[Question, Sequence[str]]]) -> dict[str, object]:
    """ranked: documents for each question, best first; only questions that are to be answered count."""
    clear = [(question, documents) for question, documents in ranked if question.clear]
    return {
        f"@{depth}": share(clear, lambda pair, to=depth: pair[0].right(pair[1][:to]))
        for depth in DEPTHS
    }


def times_row(site: Sequence[Outcome], plain: Sequence[Outcome]) -> dict[str, object]:
    """Medians of first tokens, of the same questions on both sides."""
    pairs = [
        pair
        for pair in zip(site, plain, strict=True)
        if all(outcome.first_token_ms for outcome in pair)
    ]
    row: dict[str, object] = {}
    quick = [pair for pair in pairs if pair[0].decision == "ANSWER" and pair[0].rounds == 1]
    for name, chosen in (("one round", quick), ("all", pairs)):
        ours, theirs = (
            middle([pair[side].first_token_ms or 0.0 for pair in chosen]) for side in (0, 1)
        )
        ratio = ours / theirs if ours and theirs else None
        row |= {
            name: len(chosen),
            f"{name}: site ms": ours,
            f"{name}: plain ms": theirs,
            f"{name}: ratio": ratio,
        }
    return row


def share(items: Sequence[Any], holds: Callable[[Any], bool]) -> float | None:
    return mean(holds(item) for item in items) if items else None


def counted(items: Sequence[Any], holds: Callable[[Any], bool]) -> str:
    return f"{sum(holds(item) for item in items)} of {len(items)}"


def middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def as_line(outcome: Outcome) -> Mapping[str, object]:
    """What `--json` keeps of a question."""
    return {
        "id": outcome.question.id,
        "question": outcome.question.text,
        "decision": outcome.decision,
        "support": outcome.support,
        "error": outcome.error,
        "found rank": outcome.question.rank(outcome.found),
        "cited": list(outcome.cited),
        "right cited": outcome.question.right(outcome.cited),
        "fact": outcome.question.stated(outcome.text),
        "rounds": outcome.rounds,
        "calls": outcome.calls,
        "first_token_ms": outcome.first_token_ms,
        "answer": outcome.text,
    }
