"""What a judge is shown of the passages: the sentences in which the answer would stand, within one budget for all.

They are chosen by what the trained estimate goes by: which of the question's terms a sentence holds, rare ones weighing
more, whether it could hold the kind of thing that is asked for, and how likely its passage answers. A sentence counts
together with its neighbours, since an answer often stands beside the words of the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from retrieval.answerability.passage import SentenceView, view_passage, view_sentence
from retrieval.answerability.question import QuestionView, view_question
from retrieval.answerability.signals import fits, signal_weights
from retrieval.text.sentences import Sentence, sentence_spans
from retrieval.text.tokens import estimate_tokens
from retrieval.values import StoredChunk

TOKENS = 700  # of all excerpts together, as `estimate_tokens` counts them
CHINESE_TOKENS = 1000  # a Chinese character counts as one there, and costs two thirds of one
LEAST_TOKENS = 30  # of each passage, as far as it has so many
NEIGHBOUR = 0.6  # share of its worth that a sentence lends to the one after it, and, halved, to the one before
FITTING = 0.25  # of the question's whole weight: what it adds that a sentence could hold the answer's kind
GAP = " … "


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence of a passage. worth: what it likely tells, per token."""

    passage: int
    place: int
    tokens: int
    worth: float


def choose_excerpts(
    question: str, chunks: Sequence[StoredChunk], probabilities: Sequence[float], *, tokens: int
) -> list[str]:
    """Of each chunk the sentences that are worth most, in their order, with GAP where some are left out.

    probabilities: P(it answers), of the trained estimate, 0..1, in the chunks' order. Some ms of CPU for each chunk
    that it has not seen yet: keep it off the event loop.
    """
    asked = view_question(question)
    heads = [f"{chunk.title}\n{chunk.heading}".strip() for chunk in chunks]
    views = [view_passage(head, chunk.text) for head, chunk in zip(heads, chunks, strict=True)]
    weights = signal_weights(asked, views)
    spans = [sentence_spans(chunk.text) for chunk in chunks]
    kept: list[set[int]] = [set() for _ in chunks]
    units: list[_Unit] = []
    for at, (chunk_spans, view, probability) in enumerate(zip(spans, views, probabilities, strict=True)):
        sentences = view.sentences if len(view.sentences) == len(chunk_spans) else _views(chunk_spans)
        worths = _worths(asked, sentences, weights)
        for place, (span, worth) in enumerate(zip(chunk_spans, worths, strict=True)):
            cost = estimate_tokens(span.text) + 1
            units.append(_Unit(at, place, cost, worth * (0.1 + probability) / cost**0.5))
    used = [0] * len(chunks)
    left = tokens
    ordered = sorted(units, key=lambda unit: -unit.worth)
    for unit in ordered:  # first what every passage is shown at least
        if used[unit.passage] < LEAST_TOKENS:
            kept[unit.passage].add(unit.place)
            used[unit.passage] += unit.tokens
            left -= unit.tokens
    for unit in ordered:
        if unit.place not in kept[unit.passage] and unit.tokens <= left:
            kept[unit.passage].add(unit.place)
            left -= unit.tokens
    chosen = zip(chunks, spans, kept, strict=True)
    return [_joined(chunk.text, chunk_spans, places) for chunk, chunk_spans, places in chosen]


def _views(spans: Sequence[Sentence]) -> list[SentenceView]:
    return [view_sentence(span.text)[0] for span in spans]


def _worths(asked: QuestionView, sentences: Sequence[SentenceView], weights: Mapping[str, float]) -> list[float]:
    """What each sentence likely tells, at least 0: the terms that it holds, and a part of what its neighbours do."""
    total = sum(weights.values()) or 1.0
    held = [sum(weights[term] for term in sentence.terms & weights.keys()) / total for sentence in sentences]
    worths = []
    for at, sentence in enumerate(sentences):
        before = held[at - 1] if at else 0.0
        after = held[at + 1] if at + 1 < len(held) else 0.0
        near = held[at] + NEIGHBOUR * before + NEIGHBOUR / 2 * after
        worths.append(near * (1.0 + FITTING * fits(asked, sentence)))
    return worths


def _joined(text: str, spans: Sequence[Sentence], places: Set[int]) -> str:
    parts: list[str] = []
    last = -1
    for place in sorted(places):
        span = spans[place]
        if last >= 0:
            parts.append(text[spans[last].end : span.start] if place == last + 1 else GAP)
        parts.append(span.text)
        last = place
    return "".join(parts)
