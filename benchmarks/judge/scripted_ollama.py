"""A model server whose judgements are scripted: wrong in one way, whatever it is shown. It writes and rewrites as the
test suite's simulated Ollama does, so that a workflow's decisions differ by its judgements alone.

It has no embedding model: the same passages are found as without a server.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from tests.ollama_answers import SENTENCE, Reading, SchemaFiller, overlap
from tests.ollama_server import EMBED_MODEL, OllamaServer, RecordedRequest, Reply

EXAMPLE = re.compile(r"(?:JSON|json)[^\n{]*[:：]\s*(\{[^\n]*\})")
SENTENCES = 4  # of an answer
GOOD, NEARLY = 0.5, 0.2  # shares: from which passages are named; those so far below the best are named with it
YES = ("ANSWER", "SUFFICIENT", "A", "none")
NO = ("NO_ANSWER", "INSUFFICIENT", "N", "absent")
UNCLEAR = ("CLARIFY", "C", "unclear")

Share = Callable[[str, int], float]  # of a prompt's text and an entry's number: where in its range a number lies, 0..1


def noise(text: str, number: int) -> float:
    """0..1, always the same for the same text and number."""
    return zlib.crc32(f"{number}:{text}".encode()) / 0xFFFFFFFF


class ScriptedJudge(SchemaFiller):
    """Fills what judges by a script, and everything else (queries, plans, routes) as the simulated model does."""

    def __init__(
        self, schema: Mapping[str, Any], reading: Reading, *, share: Share, agrees: bool, verdicts: tuple[str, ...]
    ) -> None:
        super().__init__(schema, reading)
        self._share, self._agrees, self._verdicts = share, agrees, verdicts
        self._text = reading.question

    def _value(self, schema: Mapping[str, Any], name: str, score: float, marker: int | None) -> Any:
        schema = self._resolve(schema)
        for verdict in self._verdicts:
            if verdict in schema.get("enum", ()):
                return verdict
        if schema.get("type") == "boolean":
            return self._agrees != bool(re.search("clarif|contradict|missing", name))
        if self._verdicts is UNCLEAR and name == "clarifying_question":
            return "Which one do you mean?"
        if self._verdicts is UNCLEAR and name == "clarifying_options":
            return ["the first", "the second"]
        return super()._value(schema, name, score, marker)

    def _list(self, schema: Mapping[str, Any], name: str, score: float) -> list[Any]:
        """Of a list of passages, those that the script holds for the best, if for any good at all."""
        if "passages" not in name or self._resolve(schema.get("items", {})).get("type") != "integer":
            return super()._list(schema, name, score)
        shares = {number: self._share(self._text, number) for number in self._reading.passages}
        best = max(shares.values(), default=0.0)
        return [number for number, share in shares.items() if best >= GOOD and share >= best - NEARLY]

    def _number(self, schema: Mapping[str, Any], kind: str, name: str, score: float, marker: int | None) -> float:
        if kind == "integer" and re.search("passage|statement|document|index|id$", name):
            return super()._number(schema, kind, name, score, marker)
        return super()._number(schema, kind, name, self._share(self._text, marker or 0), marker)


class ScriptedOllama(OllamaServer):
    """`judge`: one of JUDGES; it may be changed while the server runs."""

    def __init__(self, judge: str = "honest") -> None:
        super().__init__()
        self.remove_model(EMBED_MODEL)
        self.judge = judge

    def _text(self, request: RecordedRequest, reply: Reply) -> str:
        schema, messages = request.body.get("format"), request.body.get("messages", [])
        reading = Reading.of(messages)
        if not isinstance(schema, dict):
            return quoted(reading) or super()._text(request, reply)
        said = JUDGES[self.judge](schema, reading, "\n".join(str(each["content"]) for each in messages))
        return json.dumps(said, ensure_ascii=False)


def quoted(reading: Reading) -> str:
    """The sentences that share most words with the question, each with its marker; none where no passage does."""
    sentences = [
        (overlap(reading.question, sentence), -number, sentence.strip())
        for number, text in reading.passages.items()
        for sentence in SENTENCE.findall(text)
    ]
    best = sorted((each for each in sentences if each[0]), reverse=True)[:SENTENCES]
    return " ".join(f"{sentence} [{-number}]" for _, number, sentence in best)


def _echo(schema: Mapping[str, Any], reading: Reading, prompt: str) -> Any:
    """The prompt's own example, where it has one that is JSON; else one good passage and nothing else."""
    for found in EXAMPLE.findall(prompt):
        try:
            return json.loads(found)
        except ValueError:
            continue

    def first_alone(_: str, number: int) -> float:
        return 0.9 if number <= 1 else 0.0

    return ScriptedJudge(schema, reading, share=first_alone, agrees=True, verdicts=YES).fill()


def _constant(share: float, *, agrees: bool, verdicts: tuple[str, ...]) -> Callable[..., Any]:
    return lambda schema, reading, _: ScriptedJudge(
        schema, reading, share=lambda *_: share, agrees=agrees, verdicts=verdicts
    ).fill()


def _varied(low: float, high: float, *, agrees: bool, verdicts: tuple[str, ...]) -> Callable[..., Any]:
    """Numbers that differ from passage to passage, and say the same of all."""
    return lambda schema, reading, _: ScriptedJudge(
        schema,
        reading,
        share=lambda text, number: low + (high - low) * noise(text, number),
        agrees=agrees,
        verdicts=verdicts,
    ).fill()


def _contrary(schema: Mapping[str, Any], reading: Reading, _: str) -> Any:
    """The better a passage, the worse it is said to be."""
    scores, good = reading.scores, reading.best[1] >= 0.5
    return ScriptedJudge(
        schema,
        reading,
        share=lambda _, number: 1.0 - scores.get(number, reading.best[1]),
        agrees=not good,
        verdicts=NO if good else YES,
    ).fill()


def _random(schema: Mapping[str, Any], reading: Reading, _: str) -> Any:
    agrees = noise(reading.question, -1) < 0.5
    return ScriptedJudge(schema, reading, share=noise, agrees=agrees, verdicts=YES if agrees else NO).fill()


JUDGES: Mapping[str, Callable[[Mapping[str, Any], Reading, str], Any]] = {
    "honest": lambda schema, reading, _: SchemaFiller(schema, reading).fill(),
    "echo": _echo,
    "all .9": _constant(0.9, agrees=True, verdicts=YES),
    "all 0": _constant(0.0, agrees=False, verdicts=NO),
    "always CLARIFY": _constant(0.5, agrees=True, verdicts=UNCLEAR),
    "always relevant": _varied(0.6, 1.0, agrees=True, verdicts=YES),
    "never relevant": _varied(0.0, 0.3, agrees=False, verdicts=NO),
    "contrary": _contrary,
    "random": _random,
}
