"""What a model is given of a document: pieces of sections, or notes that were made of them, each with its chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from retrieval.steps.document.sections import Section
from retrieval.text.answer_language import Language, in_script_of
from retrieval.text.quoting import attribute, one_line, quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.values import Scores, Source, StoredChunk

FRAME_TOKENS = 2  # between two quoted excerpts
MOST_SOURCES = 40  # passages that one answer may cite


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`section`: the number of its section, from 0. `chunk`: where it stands in the document. title: of its document,
    where there are several; what is the same for all of one document is not said again with each excerpt."""

    text: str
    heading: str
    section: int
    chunk: StoredChunk
    title: str = ""

    def quoted(self, number: int, language: Language) -> str:
        told = replace(
            self.chunk, title=self.title, heading=self.heading, text=self.text, file_name="", department="",
            doc_type="", policy_year=None,
        )  # fmt: skip
        return quote_source(number, told)

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.quoted(1000, "other")) + FRAME_TOKENS


def excerpts_of(sections: Sequence[Section], *, title: str = "") -> list[Excerpt]:
    return [
        Excerpt(piece.text.strip(), section.heading, number, piece.chunk, title)
        for number, section in enumerate(sections)
        for piece in section.pieces
    ]


def packed(excerpts: Sequence[Excerpt], tokens: int) -> list[list[Excerpt]]:
    """In order, each pack as long as fits; an excerpt that is longer than all of it stands alone, cut."""
    packs: list[list[Excerpt]] = []
    left = 0
    for excerpt in excerpts:
        for part in _fitting(excerpt, tokens):
            cost = part.tokens
            if not packs or cost > left:
                packs.append([])
                left = tokens
            packs[-1].append(part)
            left -= cost
    return packs


def _fitting(excerpt: Excerpt, tokens: int) -> Iterator[Excerpt]:
    if excerpt.tokens <= tokens:
        yield excerpt
        return
    # Chunks are a few hundred tokens, so this is for odd settings: a CJK character is a token, four others are one.
    step = max(200, tokens // 2)
    for start in range(0, len(excerpt.text), step):
        yield replace(excerpt, text=excerpt.text[start : start + step])


def quoted_passages(
    passages: Sequence[str], language: Language, *, title: str = "", sections: Sequence[str] = ()
) -> str:
    """What stands between the <passages> tags. title: of the one document that they are from; sections: names that a
    summary goes by. Both are the document's own words, so they stand inside the tags as well."""
    parts = [f'<document title="{attribute(title)}">'] if title else []
    if sections:  # before the passages: a small model copies what it has read last
        named = "\n".join(f"- {one_line(section)}" for section in sections)
        parts.append(f"<sections>\n{named}\n</sections>")
    return in_script_of("\n\n".join([*parts, *passages]), language)


def fit_one_prompt(excerpts: Sequence[Excerpt], tokens: int) -> bool:
    return len(distinct_chunks(excerpts)) <= MOST_SOURCES and sum(excerpt.tokens for excerpt in excerpts) <= tokens


def distinct_chunks(excerpts: Sequence[Excerpt]) -> dict[str, StoredChunk]:
    """By id, in the order of their first excerpt."""
    return {excerpt.chunk.chunk_id: excerpt.chunk for excerpt in excerpts}


def numbered(chunks: Sequence[StoredChunk]) -> tuple[Source, ...]:
    """Sources with markers from 1, each chunk once."""
    distinct = {chunk.chunk_id: chunk for chunk in chunks}
    return tuple(
        Source(marker=number, chunk=chunk, scores=Scores()) for number, chunk in enumerate(distinct.values(), start=1)
    )
