"""Reading labelled sets: the forms that are in use, and what is wrong with the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval.evaluation.dataset import Dataset, DatasetError, load_dataset
from retrieval.evaluation.metrics import measure

CORPUS = '{"id": "d", "text": "words"}\n'
QUERIES = '{"id": "q", "text": "question"}\n'
QRELS = "q\td\t1\n"


def load(
    folder: Path, *, corpus: str = CORPUS, queries: str = QUERIES, qrels: str = QRELS
) -> Dataset:
    for name, text in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels)):
        (folder / name).write_text(text, encoding="utf-8")
    return load_dataset(folder)


@pytest.mark.parametrize(
    "qrels", ["q\td\t1\n", "query-id\tcorpus-id\tscore\nq\td\t1\n", "q 0 d 1\n", "q\td\t1.0\n\n"]
)
def test_judgements_are_read_in_their_usual_forms(tmp_path: Path, qrels: str) -> None:
    assert load(tmp_path, qrels=qrels).qrels == {"q": {"d": 1}}


def test_kinds_of_questions(tmp_path: Path) -> None:
    lines = ['{"id": "q", "text": "a"}', '{"id": "u", "text": "b", "unanswerable": true}']
    lines += [
        '{"id": "c", "text": "c", "clarify": true}',
        '{"id": "x", "text": "d", "excluded": true}',
    ]
    dataset = load(tmp_path, queries="\n".join(lines))
    assert [(query.id, query.kind) for query in dataset.decided] == [
        ("q", "answerable"),
        ("u", "unanswerable"),
        ("c", "clarify"),
    ]
    assert [query.id for query in dataset.ranked] == ["q"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"corpus": '{"id": "d"}\n'}, r"corpus\.jsonl line 1: text Field required"),
        ({"corpus": '\n{"text": "words"}\n'}, r"corpus\.jsonl line 2: id Field required"),
        ({"corpus": CORPUS + CORPUS}, r"corpus\.jsonl line 2 repeats the id 'd'"),
        ({"corpus": ""}, r"corpus\.jsonl is empty"),
        (
            {"queries": '{"id": "q", "text": 3}\n'},
            r"queries\.jsonl line 1: text Input should be a valid string",
        ),
        ({"qrels": "q\td\t1\nq\td\n"}, r"qrels\.tsv line 2 is not a query"),
        ({"qrels": "other\td\t1\n"}, r"qrels\.tsv names none of the queries"),
    ],
)
def test_what_is_malformed_is_named(tmp_path: Path, broken: dict[str, str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load(tmp_path, **broken)


# ------------------------------------------------------------------------------------------------ metrics
def test_a_query_that_found_nothing_counts_as_zero() -> None:
    result = measure({"a": {"d": 1}, "b": {"d": 1}}, {"a": ["d"], "b": []}, k=10)
    assert result["ndcg@10"] == pytest.approx(0.5)
    assert result["mrr"] == pytest.approx(0.5)
