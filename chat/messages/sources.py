"""The sources of an answer: as they are sent, as they are stored, and where in them it is based on what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin

from chat.messages.ages import age_of_chunk, age_of_row
from chat.messages.answer_serializers import SourceSerializer
from chat.models import Source
from ragsite.core.api.rendering import rendered
from ragsite.core.text import clean_json, clean_text
from retrieval.engine import values
from retrieval.engine.steps.grounding.claims import claims_of
from retrieval.engine.steps.grounding.support import support
from retrieval.engine.steps.grounding.verify import UNSUPPORTED_SCORE
from retrieval.knowledge.services.document_content import MOST_SPANS, page_spans

SOURCE_COLUMNS = tuple(
    field.attname for field in Source._meta.concrete_fields if field.name not in ("id", "message")
)


def source_data(source: values.AnswerSource) -> dict[str, Any]:
    """A source while its answer is being written: the same fields as the stored one, without a rating."""
    return rendered(SourceSerializer, source_columns(source) | age_of_chunk(source.chunk))


def source_row_data(row: Source) -> dict[str, Any]:
    """The fields of a stored source, as `SourceSerializer` names them, still without a rating."""
    columns = {name: getattr(row, name) for name in SOURCE_COLUMNS}
    return {**columns, **age_of_row(row), "spans": row.spans or []}


def source_columns(source: values.AnswerSource) -> dict[str, Any]:
    """What is stored of it."""
    chunk = source.chunk
    return {
        "marker": source.marker,
        "kind": chunk.kind,
        "document_id": None if chunk.kind == "web" else chunk.document_id,
        "chunk_id": chunk.chunk_id,
        "title": clean_text(chunk.title),
        "page": chunk.page,
        "heading": clean_text(chunk.heading),
        "file_name": clean_text(chunk.file_name),
        "url": clean_text(chunk.url),
        "published": chunk.published,
        "text": clean_text(chunk.text),
        "scores": clean_json(source.scores.as_dict()),
        "cited": source.cited,
        "spans": [],
    }


def evidence_address(source: Mapping[str, Any], *, site: str) -> str:
    """Of a web page its own; else the document's page, where the passage is marked."""
    if source["kind"] == "web":
        return str(source["url"])
    return urljoin(site, f"/documents/{source['document_id']}/#chunk-{source['chunk_id']}")


def source_value(row: Source) -> values.AnswerSource:
    """A stored source as the engine has it. What only a search needs to know of a passage is not stored."""
    scores = {name: row.scores[name] for name in values.SCORE_NAMES if name in row.scores}
    chunk = values.StoredChunk(
        chunk_id=row.chunk_id,
        document_id=row.url if row.kind == Source.Kind.WEB else str(row.document_id),
        collection_id="",
        seq=0,
        title=row.title,
        text=row.text,
        page=row.page,
        heading=row.heading,
        file_name=row.file_name,
        kind="web" if row.kind == Source.Kind.WEB else "document",
        url=row.url,
        published=row.published,
    )
    return values.AnswerSource(
        marker=row.marker, chunk=chunk, scores=values.Scores(**scores), cited=row.cited
    )


# ------------------------------------------------------------------------------------------------ cited places
def source_spans(
    source: values.AnswerSource, *, answer: str, grounding: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """`spans` of a cited source as it is stored: {page, boxes, start, end} each. Asks the database."""
    places = _cited_places(source, answer, grounding) if source.cited else []
    return [span for start, end in places for span in page_spans(source.chunk, start, end)][
        :MOST_SPANS
    ]


def _cited_places(
    source: values.AnswerSource, answer: str, grounding: Sequence[Mapping[str, Any]]
) -> list[tuple[int, int]]:
    """(start, end) in the source's text, in order: the parts that support the sentences that cite it.

    grounding: as a message keeps it. Answers that quote, or were stopped, have none: they are looked up here.
    """
    checked = [
        (place["start"], place["end"])
        for sentence in grounding
        for place in sentence.get("evidence", ())
        if place["marker"] == source.marker
    ]
    if not checked:
        quotes = [claim.text for claim in claims_of(answer) if source.marker in claim.markers]
        found = [support(quote, [source.chunk], question="") for quote in quotes]
        near = [one for one in found if (one.score or 0.0) >= UNSUPPORTED_SCORE]
        checked = [(place.start, place.end) for one in near for _, place in one.places]
    return sorted(set(checked))[:MOST_SPANS]


def cited_page(row: Source) -> int | None:
    """The page of what is cited first of a stored source: a passage may begin on an earlier one."""
    return next((span["page"] for span in row.spans or () if span.get("page")), row.page)
