"""What ratings are about, by its words: rated questions and rated passages, looked up or made.

Both readers keep what they have found, for the same questions and passages come again and again in a round.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone

from feedback.models import RatedPassage, RatedQuestion
from feedback.ranking.text_overlap import sketch
from feedback.rounds.bulk_rows import Key, one_of, raw, rows_add
from feedback.rounds.covering_chunks import covering_chunks
from retrieval.models import Chunk
from retrieval.text.analysis import query_terms

MAX_TERMS = 96
MOST_KEPT = 20_000  # questions, and passages, in memory


def content_hash(text: str) -> str:
    """Of a text without its white space: 32 hexadecimal digits."""
    return _digest("".join(text.split())).hex()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# ------------------------------------------------------------------------------------------------ passages
class Shown(NamedTuple):
    """What a source showed of which chunk. key: the source's."""

    key: int
    document: Key
    chunk: str
    text: str


class _Passage(NamedTuple):
    """Of a chunk that was read. text: digest of all of it."""

    document: Key
    text: bytes
    passage: int


class PassageReader:
    def __init__(self) -> None:
        self._known: dict[str, _Passage] = {}

    def forget(self) -> None:
        self._known.clear()

    def passages(self, sources: Iterable[Shown]) -> dict[int, int]:
        """Source → the passage that it showed. Pages from the web, deleted documents and texts that have changed since
        have none."""
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        found: dict[int, int] = {}
        rest: list[Shown] = []
        for source in sources:
            known = self._known.get(source.chunk)
            if known and known.document == source.document and known.text == _digest(source.text):
                found[source.key] = known.passage
            else:
                rest.append(source)
        return found | self._read(rest) if rest else found

    def _read(self, sources: Sequence[Shown]) -> dict[int, int]:
        ids = {key for source in sources if (key := _as_uuid(source.chunk))}
        columns = Chunk.objects.filter(pk__in=ids).values_list("pk", raw("document_id"), "text")
        chunks = {str(key): (key, document, text) for key, document, text in columns}
        hashes = {key: content_hash(text) for key, (_, _, text) in chunks.items()}
        placed: dict[int, tuple[str, Key, str]] = {}
        cut_anew: list[Shown] = []
        for source in sources:
            known = chunks.get(source.chunk)
            if known and known[1] == source.document and _holds(source.text, known[2]):
                placed[source.key] = (source.chunk, source.document, hashes[source.chunk])
            else:
                cut_anew.append(source)
        passages = _passage_ids({(document, digest, chunks[chunk][0]) for chunk, document, digest in placed.values()})
        found = {}
        for place, (chunk, document, digest) in placed.items():
            found[place] = passages[document, digest]
            self._known[chunk] = _Passage(document, _digest(chunks[chunk][2]), found[place])
        return found | self._follow(cut_anew)

    def _follow(self, sources: Sequence[Shown]) -> dict[int, int]:
        """Documents were read anew before their ratings were: by the chunks that hold nearly all of what was shown."""
        by_document: dict[Key, list[Shown]] = {}
        for source in sources:
            by_document.setdefault(source.document, []).append(source)
        found = {}
        for document, shown in by_document.items():
            places = covering_chunks(document, {source: sketch(source.text) for source in shown})
            passages = _passage_ids({(document, content_hash(text), chunk) for chunk, text in places.values()})
            for source, (_, text) in places.items():
                found[source.key] = passages[document, content_hash(text)]
                self._known[source.chunk] = _Passage(document, _digest(source.text), found[source.key])
        return found


def _holds(shown: str, text: str) -> bool:
    """Neighbouring chunks may have been joined to what was shown."""
    return text in shown or "".join(text.split()) in "".join(shown.split())


def _passage_ids(wanted: set[tuple[Key, str, UUID]]) -> dict[tuple[Key, str], int]:
    def known(documents: set[Key]) -> dict[tuple[Key, str], int]:
        rows = RatedPassage.objects.filter(one_of("document_id", documents)).order_by()
        columns = rows.values_list(raw("document_id"), "content_hash", "pk")
        return {(document, digest): key for document, digest, key in columns}

    there = known({document for document, _, _ in wanted})
    missing = {(document, digest): chunk for document, digest, chunk in wanted if (document, digest) not in there}
    if not missing:
        return there
    made = [(document, digest, chunk) for (document, digest), chunk in missing.items()]
    rows_add(RatedPassage, ["document", "content_hash", "chunk_id"], made)
    return there | known({document for document, _ in missing})


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------ questions
class QuestionReader:
    """Rated questions by their words."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def forget(self) -> None:
        self._known.clear()

    def questions(self, texts: Iterable[str]) -> dict[str, int]:
        """Text → the rated question, made where it is new. Texts that say nothing at all are left out."""
        texts = list(texts)
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        new = {text: _terms(text) for text in texts if text not in self._known and text.strip()}
        if new:
            signatures = {text: signature(text, terms) for text, terms in new.items()}
            now = timezone.now()
            made = [(signatures[text], text, " ".join(dict.fromkeys(terms)), now) for text, terms in new.items()]
            rows_add(RatedQuestion, ["signature", "text", "terms", "created_at"], made)
            rows = RatedQuestion.objects.filter(signature__in=set(signatures.values())).order_by()
            ids: dict[str, Any] = dict(rows.values_list("signature", "pk"))
            self._known.update((text, ids[signatures[text]]) for text in new)
        return {text: self._known[text] for text in texts if text in self._known}


def _terms(text: str) -> list[str]:
    return query_terms(text)[:MAX_TERMS]


def signature(text: str, terms: Sequence[str]) -> str:
    """The same for questions that differ in case, punctuation, stop words and endings alone."""
    told = " ".join(terms) or "text:" + " ".join(text.casefold().split())
    return _digest(told).hex()
