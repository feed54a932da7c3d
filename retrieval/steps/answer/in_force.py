"""Which documents another one says that it replaces.

Versions of one document have the same title but for the year. A version is replaced where a later one among what was
found says so and names its year: "These regulations replace the Loan Regulations of 2022", 2021年的办法同时废止.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from retrieval.steps.answer.phrases import document_page, link, phrase
from retrieval.steps.query.route import fold, years_in
from retrieval.text.analysis import analyze, query_terms
from retrieval.text.answer_language import Language
from retrieval.text.sentences import split_sentences
from retrieval.values import ScoredChunk, Source, StoredChunk

_NOT_THE_TOPIC = re.compile(r"\d+|[\s\-–—_/,.:;()（）年版]+")
_REPLACES = re.compile(
    r"\b(?:replace[sd]?|replacing|supersede[sd]?|superseding)\b|取代|代替|废止|作废|失效", re.IGNORECASE
)
# "It replaces the policy of 2023": what says so is the document itself, whatever it calls the other one.
_ITSELF_REPLACES = re.compile(
    r"\A\W*(?:it|this|these|the present)\b(?:\s+\w+){0,3}?\s+(?:replaces?|supersedes?)\b"
    r"|\A\W*本\w{0,8}(?:取代|代替)",
    re.IGNORECASE,
)
# A question about what held before is answered by it, too.
_ASKS_FOR_EARLIER = re.compile(
    r"\b(?:old|older|former|formerly|previous|previously|superseded|used to|what (?:has |have )?changed"
    r"|chang(?:e|es|ed) (?:since|between|from)|differences?|differs?|compare[ds]?|comparison)\b"
    r"|旧|^以前|以前的|原来的|原先的|此前的|上一版|前一版|改了什么|有(?:什么|哪些|何)(?:变化|变更|改变|不同|区别)|对比",
    re.IGNORECASE,
)


def topic(chunk: StoredChunk) -> str:
    """A title without its year."""
    return _NOT_THE_TOPIC.sub(" ", fold(chunk.title)).strip()


def year_of(chunk: StoredChunk) -> int | None:
    """That of the version: its policy year, or the one that its title names."""
    if chunk.policy_year is not None:
        return chunk.policy_year
    named = years_in(chunk.title)
    return named[0] if len(named) == 1 else None


def replaced_documents(candidates: Sequence[ScoredChunk]) -> frozenset[str]:
    """Ids of the candidates' documents that a later version among the candidates says it replaces."""
    dated = [(hit.chunk, year) for hit in candidates if (year := year_of(hit.chunk)) is not None]
    if len({year for _, year in dated}) < 2:
        return frozenset()
    replaced = {(topic(chunk), year) for chunk, own in dated for year in _replaced_years(chunk) if year < own}
    return frozenset(chunk.document_id for chunk, year in dated if (topic(chunk), year) in replaced)


def with_named_version(
    chosen: Sequence[ScoredChunk], candidates: Sequence[ScoredChunk], question: str, *, most: int
) -> list[ScoredChunk]:
    """`chosen`, and the version of one of its documents that belongs to a year that the question names: the newer one,
    which mentions that year where it replaces the older, may look better. It is the last of at most `most`."""
    years = set(years_in(question))
    if not years or not chosen or any(year_of(hit.chunk) in years for hit in chosen):
        return list(chosen)
    topics = {topic(hit.chunk) for hit in chosen}
    named = (hit for hit in candidates if year_of(hit.chunk) in years and topic(hit.chunk) in topics)
    version = next(named, None)
    return list(chosen) if version is None else [*chosen[: max(1, most - 1)], version]


def _replaced_years(chunk: StoredChunk) -> list[int]:
    """Years in sentences by which it replaces something of its own name; "the roof was replaced in 2022" is none."""
    text = fold(chunk.text)
    if not _REPLACES.search(text):
        return []
    named = set(query_terms(topic(chunk)))
    sentences = [sentence for sentence in split_sentences(text) if _REPLACES.search(sentence)]
    about_itself = [
        one for one in sentences if len(named & set(analyze(one))) * 2 >= len(named) or _ITSELF_REPLACES.search(one)
    ]
    return [year for sentence in about_itself for year in years_in(sentence)]


def in_force(candidates: Sequence[ScoredChunk], question: str) -> tuple[ScoredChunk, ...]:
    """The candidates without those of replaced documents; all of them where the question names a year, or asks for what
    held before."""
    if years_in(question) or _ASKS_FOR_EARLIER.search(fold(question)):
        return tuple(candidates)
    replaced = replaced_documents(candidates)
    return tuple(hit for hit in candidates if hit.document_id not in replaced)


def newest_versions(sources: Sequence[Source], question: str) -> list[Source]:
    """Without those of which a later version is among them (the same title, another year); where the question names
    the year of one of them, without the other years'."""
    years = set(years_in(question))
    named = {topic(source.chunk) for source in sources if year_of(source.chunk) in years}
    if years:
        return [source for source in sources if topic(source.chunk) not in named or year_of(source.chunk) in years]
    newest: dict[str, int] = {}
    for source in sources:
        name, year = topic(source.chunk), year_of(source.chunk)
        newest[name] = max(newest.get(name, 0), year or 0)
    return [source for source in sources if (year_of(source.chunk) or 0) == newest[topic(source.chunk)]]


def other_versions(passages: Sequence[ScoredChunk], cited: Set[int], language: Language) -> str:
    """A line that offers the other versions of the documents that are cited (the same title, another year), as links;
    empty where there are none. cited: the passages' numbers from 1."""
    shown = {passages[marker - 1].chunk.document_id: passages[marker - 1].chunk for marker in cited}
    topics = {topic(chunk) for chunk in shown.values() if year_of(chunk) is not None}
    others = {
        hit.document_id: (hit.chunk.title, document_page(hit.document_id))
        for hit in passages
        if hit.document_id not in shown and year_of(hit.chunk) is not None and topic(hit.chunk) in topics
    }
    links = ", ".join(link(title, address) for title, address in others.values())
    return f"\n\n{phrase('other_versions', language)}{links}" if links else ""
