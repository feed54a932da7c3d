"""The limits of the loop: the seed's four numbers and its forced answer."""

from __future__ import annotations

from dataclasses import dataclass

from retrieval.engine.deps import Deps
from retrieval.engine.values import Question

TOP_K = 5  # documents that a search gives the grader
MIN_SIMILARITY = 0.3  # cosine below which a document is left out that only the vectors found
REWRITES_LIMIT = 5  # the most that a request may ask for


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """The seed's four numbers and its forced answer, of the request or of the settings."""

    top_k: int
    min_similarity: float
    pass_rate: float
    max_rewrites: int
    force_generate: bool  # answer from the best documents where none has passed


def limits_of(deps: Deps, question: Question) -> LoopLimits:
    options = question.options
    settings = deps.settings.self_corrective
    return LoopLimits(
        top_k=min(options.top_k or TOP_K, deps.settings.search.max_top_k),
        min_similarity=MIN_SIMILARITY if options.min_similarity is None else options.min_similarity,
        pass_rate=settings.pass_rate if options.pass_rate is None else options.pass_rate,
        max_rewrites=settings.max_rewrites
        if options.max_rewrites is None
        else options.max_rewrites,
        force_generate=settings.force_generate
        if options.force_generate is None
        else options.force_generate,
    )
