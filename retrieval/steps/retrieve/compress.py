"""Compress: the sentences of a passage that have nothing to do with the question are left out of the prompt.

Split into strips, score, keep, recompose: the knowledge refinement of Yan et al., 2024, arXiv:2401.15884, §4.4, with a
score that needs no model. Sources keep their whole text, and the decision path tells which places of it were read, so
a citation still points to the passage as it stands in the document.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.steps.deps import Deps
from retrieval.steps.step import step
from retrieval.text.quoting import quote_source
from retrieval.text.strips import Strip, recompose, split_strips
from retrieval.text.term_coverage import coverage, full_text, term_weights, terms_of
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import note, skip
from retrieval.values import ScoredChunk

THRESHOLD = 0.3  # strips below this share of the best one of all are left out; 0: none
MIN_STRIPS = 2  # of a passage that stay where there is room
NEIGHBOURS = 1  # strips on each side of a related passage's best one that stay as well

NEIGHBOUR = 0.5  # of the better neighbour's coverage that a strip is credited with
RELATED = 0.6  # of the best strip of all: a passage that has one as good may explain, step by step, what is asked for
RANK_DISCOUNT = 0.9  # for each passage further down, where strips of different passages compete for room
PASSAGE_MARGIN = 2  # tokens between two quoted passages


@step("compress")
async def compress(
    deps: Deps, question: str, passages: Sequence[ScoredChunk], *, room: int | None
) -> list[ScoredChunk]:
    """The passages with their text cut to what is kept of it; ids, places and scores stay. room: tokens that the prompt
    has for them; None: no model reads them."""
    if room is None or not passages:
        skip("no_model_reads" if passages else "nothing_found")
        return list(passages)
    excerpts = await asyncio.to_thread(compress_passages, question, passages, tokens=room)
    kept = {excerpt.candidate.chunk_id: excerpt for excerpt in excerpts}
    note(
        "compressed",
        before=sum(estimate_tokens(passage.chunk.text) for passage in passages),
        after=sum(estimate_tokens(excerpt.candidate.chunk.text) for excerpt in excerpts),
        kept={name: [list(place) for place in excerpt.places] for name, excerpt in kept.items() if excerpt.is_cut},
        dropped=[passage.chunk_id for passage in passages if passage.chunk_id not in kept],
    )
    return [excerpt.candidate for excerpt in excerpts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """`candidate`: its text is the excerpt. `places`: character ranges of the whole passage's text."""

    candidate: ScoredChunk
    places: tuple[tuple[int, int], ...]
    is_cut: bool


@dataclass(slots=True)
class _Passage:
    candidate: ScoredChunk
    strips: list[Strip]
    scores: list[float]
    kept: set[int]

    def excerpt(self) -> Excerpt:
        chunk = self.candidate.chunk
        if len(self.kept) == len(self.strips):
            return Excerpt(candidate=self.candidate, places=((0, len(chunk.text)),), is_cut=False)
        text, places = recompose(chunk.text, [self.strips[at] for at in sorted(self.kept)])
        return Excerpt(candidate=replace(self.candidate, chunk=replace(chunk, text=text)), places=places, is_cut=True)


def compress_passages(question: str, chosen: Sequence[ScoredChunk], *, tokens: int | None = None) -> list[Excerpt]:
    """Pure and deterministic. Strips far below the best one of all are left out; where what remains is longer than
    `tokens`, the best strips of all passages fill that room, and a passage of which nothing is left is dropped.
    """
    passages = _read(question, chosen)
    best = max((score for passage in passages for score in passage.scores), default=0.0)
    for passage in passages:
        passage.kept = _worth_keeping(passage, best)
    excerpts = [passage.excerpt() for passage in passages]
    if tokens is None or _length(excerpts) <= tokens:
        return excerpts
    _fill(passages, tokens)
    return [passage.excerpt() for passage in passages if passage.kept] or [passages[0].excerpt()]


def _read(question: str, chosen: Sequence[ScoredChunk]) -> list[_Passage]:
    """A strip's score: the share of the question's terms that it holds, rare ones weighing more, and a part of what its
    better neighbour holds."""
    weights = term_weights(question, [terms_of(full_text(passage.chunk)) for passage in chosen])
    passages = []
    for candidate in chosen:
        text = candidate.chunk.text
        strips = split_strips(text)
        held = [coverage(terms_of(text[strip.start : strip.end]), weights) for strip in strips]
        beside = [max(held[at - 1 : at] + held[at + 1 : at + 2], default=0.0) for at in range(len(held))]
        scores = [own + NEIGHBOUR * near for own, near in zip(held, beside, strict=True)]
        passages.append(_Passage(candidate, strips, scores, set(range(len(strips)))))
    return passages


def _worth_keeping(passage: _Passage, best: float) -> set[int]:
    """Those not far below `best`, at least `min_strips`; in a related passage also the neighbours of its best one."""
    scores = passage.scores
    ranked = sorted(range(len(scores)), key=lambda at: -scores[at])
    kept = {at for at in ranked if scores[at] >= THRESHOLD * best} | set(ranked[:MIN_STRIPS])
    if ranked and scores[ranked[0]] >= RELATED * best:
        around = range(ranked[0] - NEIGHBOURS, ranked[0] + NEIGHBOURS + 1)
        kept |= set(around) & set(ranked)
    return kept


def _length(excerpts: Sequence[Excerpt]) -> int:
    quoted = (quote_source(number, excerpt.candidate.chunk) for number, excerpt in enumerate(excerpts, start=1))
    return sum(estimate_tokens(text) + PASSAGE_MARGIN for text in quoted)


def _fill(passages: Sequence[_Passage], tokens: int) -> None:
    """The best strips that fit, of whichever passage; the best one of the first passage always stays."""
    frames = [
        estimate_tokens(quote_source(10, replace(passage.candidate.chunk, text=""))) + PASSAGE_MARGIN
        for passage in passages
    ]
    wanted = sorted(
        ((passage.scores[at] * RANK_DISCOUNT**rank, rank, at) for rank, passage in enumerate(passages)
         for at in passage.kept),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )  # fmt: skip
    for passage in passages:
        passage.kept = set()
    if passages and passages[0].scores:
        best = max(range(len(passages[0].scores)), key=passages[0].scores.__getitem__)
        wanted.insert(0, (math.inf, 0, best))
    left, carried = tokens, set[tuple[int, int, int]]()
    for _, rank, at in wanted:
        passage = passages[rank]
        strip, text = passage.strips[at], passage.candidate.chunk.text
        if at in passage.kept:
            continue
        brought = {(rank, start, end) for start, end in strip.carried} - carried
        pieces = [text[strip.start : strip.end], *(text[start:end] for _, start, end in brought)]
        cost = sum(estimate_tokens(piece) + 1 for piece in pieces) + (0 if passage.kept else frames[rank])
        if cost <= left or not any(other.kept for other in passages):
            left -= cost
            passage.kept.add(at)
            carried |= brought
