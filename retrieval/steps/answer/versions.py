"""Versions of a document: those whose titles are the same but for the year. No sentence is read for it.

A model is given all of them, and says which rule holds for which; where none writes, the newest is quoted and the
others are offered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from retrieval.steps.answer.phrases import document_page, link, phrase
from retrieval.steps.query.route import fold, years_in
from retrieval.text.answer_language import Language
from retrieval.values import ScoredChunk, Source, StoredChunk

_NOT_THE_TOPIC = re.compile(r"\d+|[\s\-–—_/,.:;()（）年版]+")


def topic(chunk: StoredChunk) -> str:
    """A title without its year."""
    return _NOT_THE_TOPIC.sub(" ", fold(chunk.title)).strip()


def year_of(chunk: StoredChunk) -> int | None:
    """That of the version: its policy year, or the one that its title names."""
    if chunk.policy_year is not None:
        return chunk.policy_year
    named = years_in(chunk.title)
    return named[0] if len(named) == 1 else None


def with_named_version(
    chosen: Sequence[ScoredChunk], candidates: Sequence[ScoredChunk], question: str, *, most: int
) -> list[ScoredChunk]:
    """`chosen`, and the version of one of its documents that belongs to a year that the question names: the newer one,
    which mentions that year where it replaces the older, may look better. It is the last of at most `most`."""
    years, topics = set(years_in(question)), {topic(hit.chunk) for hit in chosen}
    if not years or any(year_of(hit.chunk) in years for hit in chosen):
        return list(chosen)
    named = (hit for hit in candidates if year_of(hit.chunk) in years and topic(hit.chunk) in topics)
    version = next(named, None)
    return list(chosen) if version is None else [*chosen[: max(1, most - 1)], version]


def versions_asked_for(sources: Sequence[Source], question: str) -> list[Source]:
    """Of each document's versions the one of a year that the question names, else the newest."""
    named = set(years_in(question))
    best: dict[str, tuple[bool, int]] = {}
    for source in sources:
        name, year = topic(source.chunk), year_of(source.chunk) or 0
        best[name] = max(best.get(name, (False, 0)), (year in named, year))
    return [source for source in sources if (year_of(source.chunk) or 0) == best[topic(source.chunk)][1]]


def other_versions(sources: Sequence[Source], cited: Set[int], language: Language) -> str:
    """A line that offers the other versions of the documents that are cited, as links; empty where there are none."""
    shown = [source.chunk for source in sources if source.marker in cited]
    topics = {topic(chunk) for chunk in shown if year_of(chunk) is not None}
    others = {source.chunk.document_id: source.chunk.title for source in sources if topic(source.chunk) in topics}
    for chunk in shown:
        others.pop(chunk.document_id, None)
    links = ", ".join(link(title, document_page(key)) for key, title in others.items())
    return f"\n\n{phrase('other_versions', language)}{links}" if links else ""
