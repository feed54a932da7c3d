"""One labelled set made ready for a simulated life: who asks what in which words, and what is measured afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.feedback.bm25 import Bm25
from benchmarks.feedback.corpus import Asked, Corpus, Drift
from benchmarks.feedback.rated_sets import Question, RatedSet
from benchmarks.feedback.set_vectors import embedded
from benchmarks.feedback.users import Draw
from retrieval.engine.text.analysis import analyze, query_terms

BACKGROUND = 80  # rated questions without written rewordings, asked in their own words
UNSEEN = 150  # questions of each kind that nobody asks
GOLDEN_OF = 5  # one unseen question in so many is kept for the golden set, where there is one
# share of the documents with an answer that change halfway through
MOVED = 0.1
REWRITTEN = 0.05
LURED = 0.25  # share of the questions for which a passage looks right and is not
NEAR_MISS = 0.4  # overlap of terms from which an unseen question looks like a rated one
LURES_AMONG = 20  # places


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedQuestion:
    """asked: the wordings that people use. kept: wordings that are only measured. contrast: None where there is none.
    lures: passages that look right to everybody and do not answer."""

    asked: list[Asked]
    kept: list[Asked]
    contrast: Asked | None
    lures: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """near: unseen questions that share many words with a rated one and have another answer. same, other: the rest,
    by whether a rated question is about the same passage. golden: with known answers, none of them measured."""

    corpus: Corpus
    rated: list[RatedQuestion]
    near: list[Asked]
    same: list[Asked]
    other: list[Asked]
    golden: list[Asked]


def build(data: RatedSet, cache: Path, *, seed: int) -> World:
    """Each seed keeps another rewording of each question for measuring, and draws its own other questions.

    cache: of embeddings, an SQLite file.
    """
    draw = np.random.default_rng(seed)
    pool = data.train or data.questions
    written = [one for one in (*data.questions, *data.train) if one.rewordings]
    known = {one.id for one in written}
    rest = [one for one in pool if one.id not in known]
    background = [rest[at] for at in draw.permutation(len(rest))[: min(BACKGROUND, len(rest) // 3)]]
    asked_ids = known | {one.id for one in background}
    unseen = [one for one in data.questions if one.id not in asked_ids]
    unseen = [unseen[at] for at in draw.permutation(len(unseen))]
    texts, corpus_documents, drift = _drifted(data, [*written, *background], draw)
    groups = _unseen_groups([*written, *background], unseen)
    golden = [one for at, one in enumerate(unseen) if at % GOLDEN_OF == 0]
    measured = {
        name: [one for one in group if one not in golden][:UNSEEN] for name, group in groups.items()
    }
    golden = golden[:UNSEEN]
    queries = [one.text for one in (*written, *background, *golden)]
    queries += [text for one in written for text in (*one.rewordings, one.contrast)]
    queries += [one.text for group in measured.values() for one in group]
    vectors = embedded(queries, "query", cache)
    document_vectors = embedded(texts, "document", cache)
    corpus = Corpus(
        bm25=Bm25([analyze(text) for text in texts]),
        vectors=np.stack([document_vectors[text] for text in texts]),
        documents=corpus_documents,
        drift=drift,
        embed=lambda more: embedded(more, "query", cache),
    )

    def ask(text: str, relevant: frozenset[int]) -> Asked:
        return Asked(text=text, vector=vectors[text], relevant=relevant)

    rated = []
    for at, one in enumerate((*written, *background)):
        own = ask(one.text, one.relevant)
        kept = (at + seed) % len(one.rewordings) if one.rewordings else None
        others = [
            ask(text, one.relevant) for place, text in enumerate(one.rewordings) if place != kept
        ]
        lures = lures_of(corpus, texts, own) if draw.random() < LURED else frozenset()
        rated.append(
            RatedQuestion(
                asked=[own, *others],
                kept=[] if kept is None else [ask(one.rewordings[kept], one.relevant)],
                contrast=ask(one.contrast, frozenset()) if one.contrast else None,
                lures=lures,
            )
        )
    return World(
        corpus=corpus,
        rated=rated,
        golden=[ask(one.text, one.relevant) for one in golden],
        **{
            name: [ask(one.text, one.relevant) for one in group] for name, group in measured.items()
        },
    )


def lures_of(corpus: Corpus, texts: Sequence[str], asked: Asked) -> frozenset[int]:
    """The passage without the answer that shares most of the question's words, among the first found."""
    wanted = set(query_terms(asked.text))
    found = [int(one.chunk_id) for one in corpus.search(asked)[:LURES_AMONG]]
    wrong = [slot for slot in found if slot not in asked.relevant]
    if not wrong:
        return frozenset()
    return frozenset({max(wrong, key=lambda slot: len(wanted & set(analyze(texts[slot]))))})


def _unseen_groups(
    rated: Sequence[Question], unseen: Sequence[Question]
) -> dict[str, list[Question]]:
    terms = [(frozenset(query_terms(one.text)), one.relevant) for one in rated]
    answered = frozenset().union(*(one.relevant for one in rated))
    groups: dict[str, list[Question]] = {"near": [], "same": [], "other": []}
    for one in unseen:
        own = frozenset(query_terms(one.text))
        if any(own == other for other, _ in terms):
            continue  # a rated question's own words, which the set answers elsewhere: nobody could tell them apart
        near = any(
            not relevant & one.relevant and len(own & other) >= NEAR_MISS * len(own | other)
            for other, relevant in terms
        )
        groups["near" if near else "same" if one.relevant & answered else "other"].append(one)
    return groups


def _drifted(
    data: RatedSet, rated: Sequence[Question], draw: Draw
) -> tuple[list[str], list[int], Drift]:
    """The texts and documents of all slots: the set's own, and those that come up halfway through."""
    texts = list(data.texts)
    documents = list(data.documents)
    moved: dict[int, int] = {}
    rewritten: dict[int, int] = {}
    elsewhere: dict[int, int] = {}

    def add(text: str, document: int) -> int:
        texts.append(text)
        documents.append(document)
        return len(texts) - 1

    for slot in sorted(frozenset().union(*(one.relevant for one in rated))):
        chance = draw.random()
        if chance < MOVED:
            moved[slot] = add(texts[slot], documents[slot])
        elif chance < MOVED + REWRITTEN:
            rewritten[slot] = add(_shortened(texts[slot]), documents[slot])
            elsewhere[slot] = add(texts[slot], max(documents) + 1)
    return texts, documents, Drift(moved=moved, rewritten=rewritten, elsewhere=elsewhere)


def _shortened(text: str) -> str:
    """Its title and the beginning, and a hint that the rest is elsewhere: what a page looks like after a rewrite."""
    title, _, body = text.partition("\n")
    return f"{title}\n{body[: max(80, len(body) // 5)]}\n(...)"
