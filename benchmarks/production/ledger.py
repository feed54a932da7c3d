"""What the site acknowledged and its readers saw, and what the database holds of it in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Answer:
    """An answer as its reader saw it: pieces of text with the moment at which they came. asked, ended: moments.

    fault: under which it was asked, or which met it while it was written. final: the kind of its last event.
    """

    message_id: str
    user_message_id: str
    question: str
    fault: str
    asked: float
    seen: list[tuple[float, str]] = field(default_factory=list)
    last_seq: int = 0
    final: str = ""
    ended: float = 0.0
    withdrawn: int = 0  # how often its text was taken back

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.seen)


class Ledger:
    """What was acknowledged under which fault. fault: the one of now."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.faults: list[str] = []  # all so far
        self.answers: dict[str, Answer] = {}
        self.documents: dict[str, str] = {}  # id → fault
        self.ratings: dict[str, str] = {}  # id of the rated answer → fault
        self.refused: dict[int, int] = {}  # status → how often

    def refuse(self, status: int) -> None:
        self.refused[status] = self.refused.get(status, 0) + 1

    def begin(self, fault: str) -> None:
        """What is being written now counts as met by it, and what is asked from now on."""
        self.faults.append(fault)
        self.fault = fault
        for answer in list(self.answers.values()):  # another thread adds to them
            if not answer.final:
                answer.fault = fault


class Verdict:
    """By fault: what was acknowledged, and what of it is not there. held: `benchmarks.production.audit`."""

    def __init__(self, ledger: Ledger, held: dict[str, Any]) -> None:
        self.counts: dict[str, dict[str, int]] = {}
        self._messages = held["messages"]
        for answer in ledger.answers.values():
            self._answer(answer)
        for document, fault in ledger.documents.items():
            self._document(held["documents"].get(document), fault)
        for message, fault in ledger.ratings.items():
            self._count(fault, "ratings")
            if message not in held["ratings"]:
                self._count(fault, "ratings lost")

    def _answer(self, answer: Answer) -> None:
        fault = answer.fault
        self._count(fault, "answers")
        question = self._messages.get(answer.user_message_id)
        stored = self._messages.get(answer.message_id)
        if question is None or question["text"] != answer.question or stored is None:
            self._count(fault, "messages lost")
        if stored is None or answer.final in ("", "gone") or stored["status"] == "streaming":
            self._count(fault, "without an end")
        else:
            self._count(fault, stored["status"])
        text = stored["text"] if stored else ""
        self._count(fault, "characters lost", len(answer.text) - _alike(answer.text, text))

    def _document(self, stored: dict[str, Any] | None, fault: str) -> None:
        self._count(fault, "documents")
        if stored is None:
            self._count(fault, "documents lost")
        elif stored["status"] != "ready" or not stored["chunks"]:
            self._count(fault, "documents not ready")

    def _count(self, fault: str, what: str, number: int = 1) -> None:
        row = self.counts.setdefault(fault, {})
        row[what] = row.get(what, 0) + number


def _alike(seen: str, stored: str) -> int:
    """Characters from the beginning on."""
    count = 0
    for one, other in zip(seen, stored, strict=False):
        if one != other:
            break
        count += 1
    return count
