"""Reading labelled sets: the forms that are in use, and what is wrong with the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval.evaluation.dataset import Dataset, DatasetError, DatasetMissingError, load_dataset

CORPUS = '{"id": "d", "text": "words"}\n'
QUERIES = '{"id": "q", "text": "question"}\n'
QRELS = "q\td\t1\n"


def load(folder: Path, *, corpus: str = CORPUS, queries: str = QUERIES, qrels: str = QRELS) -> Dataset:
    for name, text in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels)):
        (folder / name).write_text(text, encoding="utf-8")
    return load_dataset(folder)


@pytest.mark.parametrize("qrels", ["q\td\t1\n", "query-id\tcorpus-id\tscore\nq\td\t1\n", "q 0 d 1\n", "q\td\t1.0\n\n"])
def test_judgements_are_read_in_their_usual_forms(tmp_path: Path, qrels: str) -> None:
    assert load(tmp_path, qrels=qrels).qrels == {"q": {"d": 1}}


def test_ids_may_be_underscored_or_numbers(tmp_path: Path) -> None:
    dataset = load(tmp_path, corpus='{"_id": 7, "title": "T", "text": "words", "tags": ["a"]}\n', qrels="q\t7\t1\n")
    assert (dataset.documents[0].id, dataset.documents[0].tags) == ("7", ("a",))


def test_a_grade_of_zero_is_not_relevant(tmp_path: Path) -> None:
    assert load(tmp_path, qrels="q\td\t1\nq\te\t0\n").qrels == {"q": {"d": 1}}


def test_kinds_of_questions(tmp_path: Path) -> None:
    lines = ['{"id": "q", "text": "a"}', '{"id": "u", "text": "b", "unanswerable": true}']
    lines += ['{"id": "c", "text": "c", "clarify": true}', '{"id": "x", "text": "d", "excluded": true}']
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
        ({"queries": '{"id": "q", "text": 3}\n'}, r"queries\.jsonl line 1: text Input should be a valid string"),
        ({"qrels": "q\td\t1\nq\td\n"}, r"qrels\.tsv line 2 is not a query"),
        ({"qrels": "other\td\t1\n"}, r"qrels\.tsv names none of the queries"),
    ],
)
def test_what_is_malformed_is_named(tmp_path: Path, broken: dict[str, str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load(tmp_path, **broken)


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    load(tmp_path)
    (tmp_path / "corpus.jsonl").write_bytes('{"id": "d", "text": "é"}'.encode("latin-1"))
    with pytest.raises(DatasetError, match="can't be read"):
        load_dataset(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="holds no corpus"):
        load_dataset(tmp_path / "nowhere")
