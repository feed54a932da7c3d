"""A labelled set as a site would hold it, with rewordings and contrast questions that were written by hand.

    FOLDER/NAME          corpus.jsonl, queries.jsonl, qrels.tsv [queries_train.jsonl, qrels_train.tsv]
    REWORDINGS/NAME.jsonl   {"id": of a question of the set, "terse", "colloquial", "formal", "contrast"}

`contrast` looks like the question and asks something else: its ranking should be as without feedback.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

REWORDINGS = Path(__file__).parents[1] / "data" / "rewordings"
MANNERS = ("terse", "colloquial", "formal")
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """relevant: places in the set's texts. rewordings, contrast: empty where nobody has written any."""

    id: str
    text: str
    relevant: frozenset[int]
    rewordings: tuple[str, ...] = ()
    contrast: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedSet:
    """texts: title, heading and text of each passage. documents: of each passage its document's number.

    train: questions that are set apart for rating, if any.
    """

    name: str
    texts: list[str]
    documents: list[int]
    questions: list[Question]
    train: list[Question]


def load(name: str, folder: Path, *, documents: int, rewordings: Path = REWORDINGS) -> RatedSet:
    """At most `documents` passages: all that answer a reworded question, others that answer, then any, by chance."""
    rows, questions, train = _labelled(folder / name)
    written = read_rewordings(rewordings / f"{name}.jsonl")
    every = [*questions, *train]
    order = _order(rows, every, written, np.random.default_rng(0))[:documents]
    place = {rows[at]["id"]: new for new, at in enumerate(sorted(order))}
    texts = []
    for at in sorted(order):
        row = rows[at]
        texts.append(f"{row.get('title') or ''}\n{row.get('heading') or ''}\n{row['text']}")
    return RatedSet(
        name=name,
        texts=texts,
        documents=list(range(len(texts))),
        questions=_placed(questions, place, written),
        train=_placed(train, place, written),
    )


def read_rewordings(path: Path) -> dict[str, dict[str, str]]:
    """By a question's id; empty where there is no such file. Raises ValueError for a row that lacks a text."""
    if not path.exists():
        return {}
    found: dict[str, dict[str, str]] = {}
    for row in _rows(path):
        if not all(row.get(key) for key in ("id", *MANNERS, "contrast")):
            raise ValueError(f"{path.name}: {row.get('id')} lacks a text")
        found[row["id"]] = row
    return found


Row = dict[str, str]
Labelled = tuple[str, str, list[str]]  # id, text, ids of the passages that answer


def _labelled(folder: Path) -> tuple[list[Row], list[Labelled], list[Labelled]]:
    train: list[Labelled] = []
    if (folder / "queries_train.jsonl").exists():
        train = _asked(folder / "queries_train.jsonl", folder / "qrels_train.tsv")
    return (
        _rows(folder / "corpus.jsonl"),
        _asked(folder / "queries.jsonl", folder / "qrels.tsv"),
        train,
    )


def _asked(queries: Path, qrels: Path) -> list[Labelled]:
    answers: dict[str, list[str]] = {}
    for line in qrels.read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")[:3]
        if float(grade) > 0:
            answers.setdefault(query, []).append(document)
    return [
        (row["id"], row["text"], answers[row["id"]])
        for row in _rows(queries)
        if row["id"] in answers
    ]


def _order(
    rows: list[Row],
    questions: list[Labelled],
    written: dict[str, dict[str, str]],
    draw: np.random.Generator,
) -> list[int]:
    """Places of `rows`, the most needed first."""
    reworded = {document for key, _, answers in questions if key in written for document in answers}
    answering = {document for _, _, answers in questions for document in answers}
    need = [(row["id"] not in reworded) + (row["id"] not in answering) for row in rows]
    chance = draw.random(len(rows))
    return sorted(range(len(rows)), key=lambda at: (need[at], chance[at]))


def _placed(
    questions: list[Labelled], place: dict[str, int], written: dict[str, dict[str, str]]
) -> list[Question]:
    """Without questions that no kept passage answers."""
    found = []
    for key, text, answers in questions:
        relevant = frozenset(place[document] for document in answers if document in place)
        if relevant:
            texts = written.get(key, {})
            found.append(
                Question(
                    id=key,
                    text=text,
                    relevant=relevant,
                    contrast=texts.get("contrast", ""),
                    rewordings=tuple(texts[manner] for manner in MANNERS) if texts else (),
                )
            )
    return found


def _rows(path: Path) -> list[Row]:
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
