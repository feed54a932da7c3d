"""Labelled pools for the grader: each question with its top 10, once with its passages in the collection, once without.

A data folder holds one folder per set: corpus.jsonl {id, title, text}, queries.jsonl {id, text, [unanswerable],
[excluded]}, qrels.tsv (query, document, grade). An embeddings folder holds {set}.corpus.npy and {set}.queries.npy,
float32 of unit length, in file order; without it pools are made by BM25 alone.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.manual_questions import manual_set
from benchmarks.support.near_misses import near_misses
from retrieval.text.analysis import analyze, query_terms
from retrieval.text.term_coverage import full_text
from retrieval.values import ScoredChunk, Scores, StoredChunk

K1, B = 0.9, 0.4
WINDOW = 150
POOL = 10
ALTERED = 800  # questions of a set that are altered at most
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPool:
    """`case`: present (its passages are in the collection), absent (taken out), unanswerable (never had any; written so
    by people), altered (made by rule from an answerable one, see `near_misses`, its passages in the collection)."""

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
    """One data set, ready to be searched."""

    def __init__(self, name: str, data: Path, embeddings: Path | None) -> None:
        self.name = name
        archive = data / name / f"{name}.tar.gz"
        if archive.exists():
            made = manual_set(archive)
            rows, self.queries = made.corpus, made.queries
        else:
            rows = _rows(data / name / "corpus.jsonl")
            self.queries = _rows(data / name / "queries.jsonl")
        self.place = {row["id"]: at for at, row in enumerate(rows)}
        self.chunks = [
            StoredChunk(
                chunk_id=row["id"], document_id=row["id"], collection_id=name, seq=0, title=row.get("title") or "",
                heading=row.get("heading") or "", text=row["text"],
            )
            for row in rows
        ]  # fmt: skip
        self.bm25 = Bm25([analyze(f"{chunk.title}\n{chunk.heading}\n{chunk.text}") for chunk in self.chunks])
        if archive.exists():
            self.answers = {query: {self.place[one] for one in ids} for query, ids in made.answers.items()}
        else:
            self.answers = _answers(data / name / "qrels.tsv", self.place)
        self.document_vectors = self.query_vectors = self.altered_vectors = None
        if embeddings is not None and (embeddings / f"{name}.corpus.npy").exists():
            self.document_vectors = np.load(embeddings / f"{name}.corpus.npy")
            self.query_vectors = np.load(embeddings / f"{name}.queries.npy")
            if (embeddings / f"{name}.altered.npy").exists():
                self.altered_vectors = np.load(embeddings / f"{name}.altered.npy")

    @cached_property
    def altered(self) -> list[tuple[int, str]]:
        """(place of a query, that query altered so that its passages do not answer it), see `near_misses`."""
        answerable = [at for at, query in enumerate(self.queries) if self.answers.get(query["id"])]
        answerable = sorted(np.random.default_rng(1).permutation(answerable)[:ALTERED].tolist())
        texts = [self.queries[at]["text"] for at in answerable]

        def passages(place: int) -> str:
            gold = self.answers[self.queries[answerable[place]]["id"]]
            return "\n".join(full_text(self.chunks[at]) for at in sorted(gold))

        return [(answerable[place], question) for place, question in near_misses(texts, passages)]

    def rarity(self, term: str) -> float:
        """Inverse document frequency, 0..1."""
        return self.bm25.idf(term) / math.log(1 + (self.size + 0.5) / 0.5)

    @property
    def size(self) -> int:
        return len(self.chunks)

    def pools(self, *, limit: int, dense: bool, seed: int = 0) -> list[LabelledPool]:
        """At most `limit` answerable questions, each present and absent, and half as many unanswerable ones."""
        choose = np.random.default_rng(seed)
        answerable = [at for at, query in enumerate(self.queries) if self.answers.get(query["id"])]
        others = [at for at, query in enumerate(self.queries) if query.get("unanswerable")]
        pools = []
        for at in sorted(choose.permutation(answerable)[:limit].tolist()):
            gold = self.answers[self.queries[at]["id"]]
            pools.append(self._pool(at, "present", set(), gold, dense))
            pools.append(self._pool(at, "absent", gold, set(), dense))
        for at in sorted(choose.permutation(others)[: limit // 2].tolist()) if others else []:
            pools.append(self._pool(at, "unanswerable", set(), set(), dense))
        altered = self.altered
        for number in sorted(choose.permutation(len(altered))[: limit // 2].tolist()):
            at, question = altered[number]
            if not dense or self.altered_vectors is not None:
                vector = self.altered_vectors[number] if dense and self.altered_vectors is not None else None
                pools.append(self._pool(at, "altered", set(), set(), dense, question=question, vector=vector))
        return [pool for pool in pools if pool.candidates]

    def _pool(
        self,
        at: int,
        case: str,
        without: set[int],
        gold: set[int],
        dense: bool,
        *,
        question: str = "",
        vector: Vector | None = None,
    ) -> LabelledPool:
        question = question or self.queries[at]["text"]
        if vector is None and self.query_vectors is not None:
            vector = self.query_vectors[at]
        bm25 = self.bm25.score(query_terms(question))
        vectors = dense and self.document_vectors is not None and vector is not None
        cosine = self.document_vectors @ vector if vectors else None
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
    window = np.union1d(np.argpartition(-bm25, WINDOW)[:WINDOW], np.argpartition(-cosine, WINDOW)[:WINDOW])
    window = window[kept[window]]
    fused = _standard(bm25[window]) + _standard(cosine[window])
    return [int(at) for at in window[np.argsort(-fused, kind="stable")[:pool]]]


def _standard(values: Vector) -> Vector:
    return np.asarray((values - values.mean()) / (values.std() + 1e-9))


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _answers(path: Path, place: dict[str, int]) -> dict[str, set[int]]:
    answers: dict[str, set[int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")[:3]
        if float(grade) > 0 and document in place:
            answers.setdefault(query, set()).add(place[document])
    return answers
