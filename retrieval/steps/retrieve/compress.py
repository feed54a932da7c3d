"""Compress: the sentences of a passage that have nothing to do with the question are left out of the prompt.

Split into strips, score, keep, recompose: the knowledge refinement of Yan et al., 2024, arXiv:2401.15884, §4.4, with a
score that needs no model. Sources keep their whole text, and the decision path tells which places of it were read, so
a citation still points to the passage as it stands in the document.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.steps.deps import Deps
from retrieval.steps.retrieve.order import fit
from retrieval.steps.step import step
from retrieval.text.strips import recompose, split_strips
from retrieval.text.term_coverage import coverage, full_text, term_weights, terms_of
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import note, skip
from retrieval.values import ScoredChunk

THRESHOLD = 0.3  # strips below this share of the best one of all are left out; 0: none
MIN_STRIPS = 2  # of a passage that stay
NEIGHBOUR = 0.5  # of the better neighbour's coverage that a strip is credited with
RELATED = 0.6  # of the best strip of all: a passage that has one as good may explain, step by step, what is asked for


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


def compress_passages(question: str, passages: Sequence[ScoredChunk], *, tokens: int | None = None) -> list[Excerpt]:
    """Pure and deterministic. Strips far below the best one of all are left out, and of what remains the passages that
    do not fit into `tokens`, the last ones first."""
    weights = term_weights(question, [terms_of(full_text(passage.chunk)) for passage in passages])
    scores = [_strip_scores(passage.chunk.text, weights) for passage in passages]
    best = max((score for strips in scores for score in strips), default=0.0)
    excerpts = [_excerpt(passage, strips, best) for passage, strips in zip(passages, scores, strict=True)]
    if tokens is None or not excerpts:
        return excerpts
    return excerpts[: len(fit([excerpt.candidate for excerpt in excerpts], tokens=tokens))]


def _strip_scores(text: str, weights: dict[str, float]) -> list[float]:
    """Of each strip the share of the question's terms that it holds, rare ones weighing more, and a part of what its
    better neighbour holds."""
    held = [coverage(terms_of(text[strip.start : strip.end]), weights) for strip in split_strips(text)]
    beside = [max(held[max(at - 1, 0) : at] + held[at + 1 : at + 2], default=0.0) for at in range(len(held))]
    return [own + NEIGHBOUR * near for own, near in zip(held, beside, strict=True)]


def _excerpt(passage: ScoredChunk, scores: Sequence[float], best: float) -> Excerpt:
    """Strips not far below `best`, at least MIN_STRIPS; in a related passage also the neighbours of its best one."""
    text, strips = passage.chunk.text, split_strips(passage.chunk.text)
    ranked = sorted(range(len(scores)), key=lambda at: -scores[at])
    kept = {at for at in ranked if scores[at] >= THRESHOLD * best} | set(ranked[:MIN_STRIPS])
    if ranked and scores[ranked[0]] >= RELATED * best:
        kept |= {ranked[0] - 1, ranked[0] + 1} & set(ranked)
    if len(kept) == len(strips):
        return Excerpt(candidate=passage, places=((0, len(text)),), is_cut=False)
    cut, places = recompose(text, [strips[at] for at in sorted(kept)])
    return Excerpt(candidate=replace(passage, chunk=replace(passage.chunk, text=cut)), places=places, is_cut=True)
