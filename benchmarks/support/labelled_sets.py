"""Labelled lists: each question with its top 10, with its passages in the collection and without.

A data folder holds one folder per set, of one of three forms:

- corpus.jsonl {id, title, text}, queries.jsonl {id, text, [unanswerable], [excluded]}, qrels.tsv (query, document,
  grade);
- NAME.tar.gz: a manual, whose questions are made by rule (`benchmarks.support.manual_questions`);
- questions.jsonl {id, text, answerable, documents, key_facts}: people's questions about files, in the folder itself or
  in a manual's archive beside it, cut into chunks as the site does it.

An embeddings folder holds {set}.corpus.npy and {set}.queries.npy, float32 of unit length, in the order of `chunks` and
`queries`; without it lists are made by BM25 alone.
"""

from __future__ import annotations

import json
import math
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.manual_questions import manual_set
from ragsite.core.rag_settings import IngestSettings
from retrieval.engine.text.analysis import analyze, query_terms
from retrieval.engine.values import ScoredChunk, Scores, StoredChunk
from retrieval.knowledge.ingest.chunk_size import chunk_size
from retrieval.knowledge.ingest.chunking import Chunker
from retrieval.knowledge.ingest.markup.markdown import parse_markdown

K1, B = 0.9, 0.4
WINDOW = 150
POOL = 10
CONTEXT = 512  # tokens of MiniLM, by which the site chooses the length of chunks
MANUALS = {"realistic_milvus_en": "docs_en_milvus", "realistic_tidb_zh": "docs_zh_tidb"}
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPool:
    """`case`: present (its passages are in the collection), absent (taken out), unanswerable (never had any; written so
    by people)."""

    question: str
    case: str
    candidates: tuple[ScoredChunk, ...]
    labels: tuple[bool, ...]


class Bm25:
    """BM25 (Lucene's form) over analysed documents, held as postings; the reference for the engine's own leg."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        lengths = np.array([len(document) for document in documents], dtype=np.float64)
        norm = K1 * (1 - B + B * lengths / (lengths.mean() or 1.0))
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for at, document in enumerate(documents):
            for term, count in Counter(document).items():
                places, counts = postings.setdefault(term, ([], []))
                places.append(at)
                counts.append(count)
        self.size = len(documents)
        self.frequency = {term: len(places) for term, (places, _) in postings.items()}
        self._postings: dict[str, tuple[NDArray[np.int64], Vector]] = {}
        for term, (places, counts) in postings.items():
            at_places, tf = np.array(places), np.array(counts, dtype=np.float64)
            self._postings[term] = (at_places, self.idf(term) * tf / (tf + norm[at_places]))

    def idf(self, term: str) -> float:
        found = self.frequency.get(term, 0)
        return math.log(1 + (self.size - found + 0.5) / (found + 0.5))

    def score(self, terms: Sequence[str]) -> Vector:
        scores = np.zeros(self.size)
        for term in terms:
            if term in self._postings:
                places, weights = self._postings[term]
                scores[places] += weights
        return scores


class LabelledSet:
    """One data set, ready to be searched. answers: query id → places of the chunks that answer it. hidden: of those
    that are taken out for `absent`: all of the documents that answer."""

    def __init__(self, name: str, data: Path, embeddings: Path | None) -> None:
        self.name = name
        folder = data / name
        if (folder / "questions.jsonl").exists():
            self.chunks = [chunk for path, text in _files(folder) for chunk in _cut(path, text)]
            self.queries = [{**row, "unanswerable": not row["answerable"]} for row in _rows(folder / "questions.jsonl")]
            self._places()
            self.hidden = {row["id"]: self._of_documents(row["documents"]) for row in self.queries}
            self.answers = {row["id"]: self._with_facts(row) for row in self.queries if row["answerable"]}
        else:
            archive = folder / f"{name}.tar.gz"
            made = manual_set(archive) if archive.exists() else None
            rows = made.corpus if made else _rows(folder / "corpus.jsonl")
            self.queries = made.queries if made else _rows(folder / "queries.jsonl")
            self.chunks = [
                StoredChunk(
                    chunk_id=row["id"], document_id=row["id"], collection_id=name, seq=0, title=row.get("title") or "",
                    heading=row.get("heading") or "", text=row["text"],
                )
                for row in rows
            ]  # fmt: skip
            self._places()
            if made:
                self.answers = {query: {self.place[one] for one in ids} for query, ids in made.answers.items()}
            else:
                self.answers = _answers(folder / "qrels.tsv", self.place)
            self.hidden = self.answers
        self.bm25 = Bm25([analyze(indexed_text(chunk)) for chunk in self.chunks])
        self.document_vectors = self.query_vectors = None
        if embeddings is not None and (embeddings / f"{name}.corpus.npy").exists():
            self.document_vectors = np.load(embeddings / f"{name}.corpus.npy")
            self.query_vectors = np.load(embeddings / f"{name}.queries.npy")

    def _places(self) -> None:
        self.place = {chunk.chunk_id: at for at, chunk in enumerate(self.chunks)}

    def _of_documents(self, documents: Sequence[str]) -> set[int]:
        return {at for at, chunk in enumerate(self.chunks) if chunk.document_id in documents}

    def _with_facts(self, row: dict[str, Any]) -> set[int]:
        """The chunks of its documents that hold a key fact; all of them where none does."""
        facts = [_plain(fact) for fact in row["key_facts"]]
        places = self._of_documents(row["documents"])
        return {at for at in places if any(fact in _plain(self.chunks[at].text) for fact in facts)} or places

    def rarity(self, term: str) -> float:
        """Inverse document frequency, 0..1."""
        return self.bm25.idf(term) / math.log(1 + (self.size + 0.5) / 0.5)

    @property
    def size(self) -> int:
        return len(self.chunks)

    def pools(self, *, limit: int, dense: bool, seed: int = 0) -> list[LabelledPool]:
        """At most `limit` answerable questions, each present and absent, and as many unanswerable ones."""
        choose = np.random.default_rng(seed)
        answerable = [at for at, query in enumerate(self.queries) if self.answers.get(query["id"])]
        others = [at for at, query in enumerate(self.queries) if query.get("unanswerable")]
        pools = []
        for at in sorted(choose.permutation(answerable)[:limit].tolist()):
            identity = self.queries[at]["id"]
            pools.append(self._pool(at, "present", set(), self.answers[identity], dense))
            pools.append(self._pool(at, "absent", self.hidden[identity], set(), dense))
        for at in sorted(choose.permutation(others)[:limit].tolist()) if others else []:
            pools.append(self._pool(at, "unanswerable", set(), set(), dense))
        return [pool for pool in pools if pool.candidates]

    def _pool(self, at: int, case: str, without: set[int], gold: set[int], dense: bool) -> LabelledPool:
        question = self.queries[at]["text"]
        bm25, cosine = self.bm25.score(query_terms(question)), None
        if dense and self.document_vectors is not None and self.query_vectors is not None:
            cosine = self.document_vectors @ self.query_vectors[at]
        top = ranked(bm25, cosine, without)
        candidates = tuple(
            ScoredChunk(
                chunk=self.chunks[place],
                scores=Scores(dense=None if cosine is None else float(cosine[place]), bm25=float(bm25[place])),
            )
            for place in top
        )
        return LabelledPool(
            question=question, case=case, candidates=candidates, labels=tuple(place in gold for place in top)
        )


def ranked(bm25: Vector, cosine: Vector | None, without: set[int], *, pool: int = POOL) -> list[int]:
    """The engine's default order, the best `pool`: both legs standardised over the window and summed."""
    kept = np.ones(len(bm25), dtype=bool)
    kept[list(without)] = False
    bm25 = np.where(kept, bm25, -1.0)
    if cosine is None:
        return [int(at) for at in np.argsort(-bm25, kind="stable")[:pool] if bm25[at] > 0]
    cosine = np.where(kept, cosine, -1.0)
    size = min(WINDOW, len(bm25) - 1)
    window = np.union1d(np.argpartition(-bm25, size)[:size], np.argpartition(-cosine, size)[:size])
    window = window[kept[window]]
    fused = _standard(bm25[window]) + _standard(cosine[window])
    return [int(at) for at in window[np.argsort(-fused, kind="stable")[:pool]]]


def indexed_text(chunk: StoredChunk) -> str:
    """What is embedded and analysed of a chunk, as `retrieval.knowledge.index_sync.rows.embedding_text` has it."""
    headings = [part for part in chunk.heading.split(" › ") if part and part != chunk.title]
    return "\n".join(filter(None, (chunk.title, " › ".join(headings), chunk.text)))


def _standard(values: Vector) -> Vector:
    return np.asarray((values - values.mean()) / (values.std() + 1e-9))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """(path as `documents` names it, content) of the Markdown files."""
    if folder.name in MANUALS:
        manual = MANUALS[folder.name]
        with tarfile.open(folder.parent / manual / f"{manual}.tar.gz") as archive:
            for member in sorted(archive.getmembers(), key=lambda member: member.name):
                if member.name.endswith(".md") and (file := archive.extractfile(member)):
                    yield member.name, file.read()
    else:
        for path in sorted((folder / "docs").glob("*.md")):
            yield path.name, path.read_bytes()


def _cut(path: str, content: bytes) -> Iterator[StoredChunk]:
    document, size = parse_markdown(content), chunk_size(IngestSettings(), context=CONTEXT)
    chunker = Chunker(chunk_tokens=size.tokens, overlap_tokens=size.overlap, count_tokens=size.count_tokens)
    title = document.title or Path(path).stem
    for piece in chunker.split(document):
        yield StoredChunk(
            chunk_id=f"{path}#{piece.seq}", document_id=path, collection_id="", seq=piece.seq, title=title,
            heading=piece.heading, text=piece.text, char_start=piece.char_start, char_end=piece.char_end,
        )  # fmt: skip


def _plain(text: str) -> str:
    return " ".join(text.lower().replace(",", "").replace("`", "").split())


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _answers(path: Path, place: dict[str, int]) -> dict[str, set[int]]:
    answers: dict[str, set[int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")[:3]
        if float(grade) > 0 and document in place:
            answers.setdefault(query, set()).add(place[document])
    return answers
