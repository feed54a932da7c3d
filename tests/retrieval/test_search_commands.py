"""`manage.py search` and `manage.py rebuild_index`."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from retrieval.engine.providers.builtin import BUILTIN_SPACE
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def library(milvus: Any, offline: None) -> None:
    collection = CollectionFactory(name="rules", builtin=True)
    document = DocumentFactory(collection=collection, title="Loans")
    ChunkFactory(document=document, text="Ten books may be borrowed.")
    ChunkFactory(document=document, text="Examinations are in July.")


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_a_rebuilt_index_is_searched_with_scores() -> None:
    assert "2 chunks" in run("rebuild_index")
    text = run("search", "borrowed books")
    assert "1. Loans" in text
    assert "Ten books may be borrowed." in text
    assert "bm25" in text and "original:dense #1" in text


def test_json_is_the_api_response() -> None:
    run("rebuild_index", "--collection", "rules")
    body = json.loads(run("search", "borrowed books", "--json", "--top-k", "1"))
    assert [candidate["title"] for candidate in body["candidates"]] == ["Loans"]
    assert body["timings_ms"]["total"] > 0


def test_re_embedding_says_when_there_is_nothing_to_do() -> None:
    assert f"rules: already embedded by {BUILTIN_SPACE.model}" in run("rebuild_index", "--reembed")


@pytest.mark.parametrize(
    "arguments",
    [("search", "x", "--collection", "nope"), ("search", "  "), ("search", "x", "--top-k", "0")],
)
def test_wrong_arguments_are_one_sentence(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*arguments)
