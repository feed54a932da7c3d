"""What the simulated model says when no reply was scripted: judged by shared words, the same every time.

A prompt is read for its question (`Question: …`, `Query: …`, `问题：…`, else its last line that asks, else all of it)
and its numbered passages (`[1] …`, `【1】…`, `<passage id="1">…`). Free text cites the passage that shares most words
with the question; where none shares one and the prompt offers NO_ANSWER, it is that. A JSON schema is filled by the
names of its fields.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]+")
STOP_WORDS = frozenset({
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "have",
    "how", "i", "if", "in", "is", "it", "my", "of", "on", "or", "our", "should", "that", "the", "their", "there",
    "this", "to", "was", "we", "what", "when", "where", "which", "who", "why", "will", "with", "you", "your",
    "question", "query",
})  # fmt: skip
QUESTION = re.compile(
    r"(?:^|\n|>|\")\s*(?:the\s+)?(?:user'?s?\s+)?(?:standalone\s+)?(?:question|query|问题|問題|查询|查詢)\"?\s*[:：>]\s*(.+)",
    re.I,
)
PASSAGE = re.compile(
    r"^\s*(?:\[(?P<a>\d+)\]|【(?P<b>\d+)】|<(?:passage|document|source|chunk)\s[^>]*?\"?(?P<c>\d+)\"?[^>]*>)[ \t]*"
    r"(?P<text>.*?)(?=^\s*(?:\[\d+\]|【\d+】|</?(?:passage|document|source|chunk)s?\b|(?:question|query|问题|問題)\s*[:：])|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
RELEVANT = 0.5


def words(text: str) -> set[str]:
    """Stemmed words without stop words; CJK text as its pairs of characters."""
    found: set[str] = set()
    for run in WORD.findall(text.lower()):
        if run[0] > "\u2fff":
            found.update(run[i : i + 2] for i in range(max(1, len(run) - 1)))
        elif run not in STOP_WORDS:
            found.add(re.sub(r"(?:ies|es|s|ing|ed)$", "", run) or run)
    return found


def overlap(question: str, text: str) -> float:
    """Share of the question's words that the text holds, 0..1."""
    asked = words(question)
    return round(len(asked & words(text)) / len(asked), 3) if asked else 0.0


def tokens(text: str) -> list[str]:
    """The pieces in which the text is streamed; put together they are the text."""
    return re.findall(r"\s*[\u4e00-\u9fff]|\s*[^\s\u4e00-\u9fff]+|\s+", text)


def embed(text: str, dim: int) -> list[float]:
    """Hashed bag of words, unit length."""
    vector = [0.0] * dim
    for word in sorted(words(text)) or ["\0nothing"]:
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        vector[number % dim] += 1.0 if number >> 63 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    if not length:  # two words took each other away
        vector[0] = length = 1.0
    return [value / length for value in vector]


@dataclass
class Reading:
    """What the simulated model understood of a prompt; each field of a schema asks it again."""

    question: str
    passages: dict[int, str] = field(default_factory=dict)
    may_refuse: bool = False

    @classmethod
    def of(cls, messages: Sequence[Mapping[str, Any]]) -> Reading:
        asked = [
            str(message.get("content", "")) for message in messages if message.get("role") == "user"
        ]
        text = asked[-1] if asked else ""
        everything = "\n".join(str(message.get("content", "")) for message in messages)
        found = QUESTION.findall(text) or [
            line for line in text.splitlines() if line.strip().endswith(("?", "？"))
        ]
        passages = {}
        for match in list(PASSAGE.finditer(text)) or PASSAGE.finditer(everything):
            number = int(match["a"] or match["b"] or match["c"])
            passages[number] = match["text"].strip()
        return cls(
            question=re.sub(r"</?\w+>", "", found[-1] if found else text).strip(),
            passages=passages,
            may_refuse="NO_ANSWER" in text,
        )

    @cached_property
    def scores(self) -> dict[int, float]:
        return {number: overlap(self.question, text) for number, text in self.passages.items()}

    @cached_property
    def best(self) -> tuple[int, float]:
        """Marker and score of the best passage; (0, 0.0) where there is none."""
        return max(self.scores.items(), key=lambda item: (item[1], -item[0]), default=(0, 0.0))

    @cached_property
    def text(self) -> str:
        marker, score = self.best
        if not self.passages:
            return f"Here is what I know about: {self.question}"
        if score == 0 and self.may_refuse:
            return "NO_ANSWER"
        if score == 0:
            return "I cannot find this in the documents."
        sentences = [
            sentence.strip()
            for sentence in SENTENCE.findall(self.passages[marker])
            if sentence.strip()
        ]
        best = max(
            sentences,
            key=lambda sentence: overlap(self.question, sentence),
            default=self.passages[marker],
        )
        return f"{best} [{marker}]"


def filled(schema: Mapping[str, Any], reading: Reading) -> Any:
    """A value for a JSON schema without references, by the names of its fields."""
    return _value(schema, "", reading, reading.best[1], None)


def _value(
    schema: Mapping[str, Any], name: str, reading: Reading, score: float, marker: int | None
) -> Any:
    if "enum" in schema:
        return _choose(schema["enum"], score)
    if "anyOf" in schema:
        return None
    match schema.get("type", "object"):
        case "object":
            parts = schema.get("properties", {})
            return {key: _value(part, key, reading, score, marker) for key, part in parts.items()}
        case "array":
            return _list(schema, name, reading, score)
        case "boolean":
            return score >= RELEVANT
        case "string":
            return _string(schema, name, reading)
        case "integer" if name == "passage":
            return marker if marker is not None else reading.best[0]
        case kind:
            low, high = (
                schema.get("minimum", 0),
                schema.get("maximum", 1 if kind == "number" else 10),
            )
            return round(low + (high - low) * score, 3 if kind == "number" else None)


def _list(schema: Mapping[str, Any], name: str, reading: Reading, score: float) -> list[Any]:
    items, found = schema["items"], list[Any]()
    if items.get("type") == "object" or name == "scores":
        found = [
            _value(items, name, reading, each, number) for number, each in reading.scores.items()
        ]
    elif items.get("type") == "integer":
        found = [number for number, each in reading.scores.items() if each >= RELEVANT]
    elif "quer" in name:
        found = [reading.question, " ".join(sorted(words(reading.question)))]
    while len(found) < schema.get("minItems", 0):
        found.append(_value(items, name, reading, score, len(found) + 1))
    return found[: schema.get("maxItems", len(found))]


def _string(schema: Mapping[str, Any], name: str, reading: Reading) -> str:
    if "quer" in name or name == "standalone_question":
        text = reading.question
    elif "passage" in name or name == "point":
        text = reading.text
    else:
        text = schema.get("default") or ""
    return text.ljust(schema.get("minLength", 0))[: schema.get("maxLength", len(text) or 1)]


def _choose(values: Sequence[Any], score: float) -> Any:
    by_name = {str(value).lower(): value for value in values}
    for wanted in (
        ("answer", "sufficient", "retrieve")
        if score >= RELEVANT
        else ("no_answer", "insufficient", "retrieve")
    ):
        if wanted in by_name:
            return by_name[wanted]
    return None if None in values else values[0]
