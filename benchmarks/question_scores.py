"""A set of people's questions (`benchmarks.real_questions`), and how answers to them are counted: no site.

    questions.jsonl   {"id", "text", "answerable", "documents", "key_facts", ["needs_all", "clarify_ok", "expect"]}

`documents` are paths below the folder of the documents; any one answers, or all together where `needs_all`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import opencc

FOUND_AT = 8
SIMPLIFIED = opencc.OpenCC("t2s")
IGNORED = str.maketrans("", "", ",`")  # where key facts are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """clarify: it is to be asked back about. clarify_ok: it may be."""

    id: str
    text: str
    answerable: bool
    documents: frozenset[str]
    key_facts: tuple[str, ...]
    needs_all: bool
    clarify: bool
    clarify_ok: bool

    @property
    def clear(self) -> bool:
        """It is to be answered."""
        return self.answerable and not self.clarify

    def right(self, documents: Sequence[str]) -> bool:
        found = self.documents & set(documents)
        return found == self.documents if self.needs_all else bool(found)

    def stated(self, text: str) -> bool:
        said = folded(text)
        return any(folded(fact) in said for fact in self.key_facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a question. decision: empty where it failed. found, shown, cited: documents, best first."""

    question: Question
    decision: str
    error: str = ""
    text: str = ""
    found: Sequence[str] = ()
    shown: Sequence[str] = ()
    cited: Sequence[str] = ()
    first_token_ms: float | None = None
    rounds: int = 1

    @property
    def is_found(self) -> bool:
        return self.question.right(self.found[:FOUND_AT])

    @property
    def is_answered(self) -> bool:
        """With the right document cited."""
        return self.decision == "ANSWER" and self.question.right(self.cited)

    @property
    def states_fact(self) -> bool:
        return self.decision == "ANSWER" and self.question.stated(self.text)


def read_questions(file: Path) -> list[Question]:
    questions = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        question = Question(
            id=row["id"],
            text=row["text"],
            answerable=row["answerable"],
            documents=frozenset(row["documents"]),
            key_facts=tuple(row["key_facts"] or ()),
            needs_all=row.get("needs_all", False),
            clarify=row.get("expect") == "CLARIFY",
            clarify_ok=row.get("clarify_ok", False),
        )
        questions.append(question)
    return questions


def folded(text: str) -> str:
    return str(SIMPLIFIED.convert(text)).casefold().translate(IGNORED)


def answers_row(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Shares of the questions that are to be answered; of the others, how many of how many."""
    clear = [one for one in outcomes if one.question.clear]
    found = [one for one in clear if one.is_found]
    unanswerable = [one for one in outcomes if not one.question.answerable]
    unclear = [one for one in outcomes if one.question.clarify]
    plain = [one for one in outcomes if not (one.question.clarify or one.question.clarify_ok)]
    return {
        "clear": len(clear),
        f"found@{FOUND_AT}": share(clear, lambda one: one.is_found),
        "found→cited": share(found, lambda one: one.is_answered),
        "cited": share(clear, lambda one: one.is_answered),
        "fact": share(clear, lambda one: one.states_fact),
        "shown": share(clear, lambda one: one.question.right(one.shown)),
        "refused": share(clear, lambda one: one.decision == "NO_ANSWER"),
        "no answer→refused": counted(unanswerable, "NO_ANSWER"),
        "unclear→asked": counted(unclear, "CLARIFY"),
        "asked unfairly": counted(plain, "CLARIFY"),
        "failed": sum(bool(one.error) for one in outcomes),
    }


def first_token_row(site: Sequence[Outcome], plain: Sequence[Outcome]) -> dict[str, object]:
    """Medians of the questions that both sides came to a text for."""
    pairs = []
    for ours, theirs in zip(site, plain, strict=True):
        if ours.first_token_ms and theirs.first_token_ms:
            pairs.append((ours.first_token_ms, theirs.first_token_ms, ours.rounds))
    row: dict[str, object] = {}
    for name, chosen in (("one round", [pair for pair in pairs if pair[2] == 1]), ("all", pairs)):
        row[name] = len(chosen)
        row[f"{name}: site ms"] = median(pair[0] for pair in chosen) if chosen else None
        row[f"{name}: plain ms"] = median(pair[1] for pair in chosen) if chosen else None
    return row


def share(outcomes: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> float | None:
    return mean(holds(one) for one in outcomes) if outcomes else None


def counted(outcomes: Sequence[Outcome], decision: str) -> str:
    return f"{sum(one.decision == decision for one in outcomes)} of {len(outcomes)}"
