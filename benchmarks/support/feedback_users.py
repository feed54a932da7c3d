"""Simulated users: how they put a question in other words, and how they rate what they are shown. No model.

Everything is drawn from a generator that is passed in, so a run can be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from feedback.ranking.attribution import CitedSource, Credit, GivenRating, RatedAnswer, attribute
from retrieval.text.stop_words import ENGLISH

SHOWN = 6  # passages under an answer
CITED = 2  # of them the answer leans on
FRAMES = (
    "{}", "{}", "could you tell me {}", "i would like to know: {}", "please help, {}", "what do we know about this: {}",
    "{} - what do the documents say", "question: {}",
)  # fmt: skip
WORDS = {
    "increase": "raise", "increases": "raises", "increased": "raised", "decrease": "lower", "decreases": "lowers",
    "reduce": "lower", "reduces": "lowers", "reduced": "lowered", "cause": "lead to", "causes": "leads to",
    "caused": "led to", "show": "demonstrate", "shows": "demonstrates", "important": "essential", "large": "big",
    "many": "a lot of", "small": "little", "begin": "start", "began": "started", "called": "named", "known": "named",
    "located": "situated", "country": "nation", "people": "persons", "kind": "type", "type": "kind", "use": "employ",
    "used": "employed", "make": "produce", "made": "produced", "big": "large", "film": "movie", "movie": "film",
    "born": "given birth to", "wrote": "authored", "written": "authored", "year": "time", "main": "chief",
    "associated": "linked", "risk": "danger", "treatment": "therapy", "during": "in the course of", "first": "earliest",
}  # fmt: skip
_TOKEN = re.compile(r"\w+|\W+")


def paraphrase(text: str, draw: np.random.Generator) -> str:
    """Other words where a table has them, an order that may change, a frame of small talk, a word left out.

    Names and numbers stay: a question about another year is another question.
    """
    parts = [WORDS.get(part.casefold(), part) for part in _TOKEN.findall(text.strip().rstrip("?.!"))]
    plain = [at for at, part in enumerate(parts) if part.isalpha() and part.islower() and part not in ENGLISH]
    if len(plain) > 4:
        parts[int(draw.choice(plain))] = ""
    words = "".join(parts).split()
    if len(words) > 7 and draw.random() < 0.5:  # "a b c d" → "c d, a b"
        cut = int(draw.integers(len(words) // 3, 2 * len(words) // 3 + 1))
        words = [*words[cut:], "/", *words[:cut]]
    elif draw.random() < 0.3:
        words = [word for word in words if word.casefold() not in ENGLISH] or words
    return FRAMES[int(draw.integers(len(FRAMES)))].format(" ".join(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """noise: chance that a verdict is the wrong way round. malicious: always the wrong way round, on every source."""

    number: int
    noise: float
    malicious: bool = False

    def rate(self, shown: Sequence[int], relevant: set[int], draw: np.random.Generator) -> list[Credit]:
        """Evidence on the shown passages, each rated by itself, and on the answer, through the site's own attribution.

        Markers are places in `shown`, from 1.
        """
        ratings = [GivenRating(id=0, marker=None, **self._verdict(bool(relevant & set(shown[:CITED])), draw))]
        for place, passage in enumerate(shown[:SHOWN]):
            ratings.append(GivenRating(id=0, marker=place + 1, **self._verdict(passage in relevant, draw)))
        answer = RatedAnswer(
            text=" ".join(f"sentence [{place + 1}]." for place in range(min(CITED, len(shown)))),
            decision="ANSWER",
            status="complete",
            sources=[CitedSource(place + 1, place < CITED) for place in range(len(shown[:SHOWN]))],
        )
        return attribute(answer, ratings)

    def _verdict(self, good: bool, draw: np.random.Generator) -> dict[str, object]:
        wrong = self.malicious or draw.random() < self.noise
        up = good != wrong
        reasons = () if up or draw.random() < 0.5 else ("wrong_source",)
        return {"score": 5 if up else 1, "tags": reasons}
