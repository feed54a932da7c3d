"""From an answer at the desk to a golden question or a boost by hand, and back again."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse

from chat.models import Message
from chat.review.records import answers_record
from feedback.models import GoldenQuestion, ManualBoost
from feedback.rounds.live import manual_rules
from retrieval.engine.text.same_question import wording
from retrieval.models import Chunk
from tests.clients import client_of, person
from tests.factories import CollectionFactory, DocumentFactory, UserFactory
from tests.feedback.rated import make_answer, passage

pytestmark = pytest.mark.django_db
QUESTION = "How many books may I borrow?"
GOLDEN = "review_golden_new"


@pytest.fixture
def chunks() -> list[Chunk]:
    collection = CollectionFactory(name="policies", visibility="public")
    return [passage(text, collection=collection, title=text) for text in ("Opening hours", "Loans")]


@pytest.fixture
def answer(chunks: list[Chunk]) -> Message:
    message = make_answer(QUESTION, chunks, text="Ten books [2].")
    answers_record([message.pk])
    return message


def golden_address(answer: Message) -> str:
    return f"{reverse(GOLDEN)}?answer={answer.pk}"


def boost_address(chunk: Chunk, answer: Message | None = None) -> str:
    where = f"&answer={answer.pk}" if answer else ""
    return f"{reverse('review_boost_new')}?document={chunk.document_id}&chunk={chunk.pk}{where}"


# ------------------------------------------------------------------------------------------------ golden questions
def test_an_answer_leads_to_its_golden_question_with_the_cited_document_ticked(
    answer: Message, chunks: list[Chunk]
) -> None:
    client = client_of(person("Curators"))
    page = client.get(reverse("review_answer", args=[answer.pk])).content.decode()
    assert golden_address(answer) in page
    form = client.get(golden_address(answer)).content.decode()
    ticked = [f'value="{chunk.document_id}" checked' in form for chunk in chunks]
    assert (ticked, QUESTION in form) == ([False, True], True)


@pytest.mark.parametrize(("role", "named"), [("Curators", False), ("Administrators", True)])
def test_a_private_collection_is_named_to_those_alone_who_see_names(role: str, named: bool) -> None:
    """Its name tells whose question it was."""
    private = CollectionFactory(name="wages of alice", owner=UserFactory(), visibility="private")
    own, other = (
        passage("Wages", collection=private, title="Wages"),
        passage("Loans", title="Loans"),
    )
    answer = make_answer(QUESTION, [own, other], text="Ten [1] or so [2].")
    answers_record([answer.pk])
    form = client_of(person(role)).get(golden_address(answer)).text
    assert ["wages of alice" in form, str(private.pk) in form, str(own.document_id) in form] == [
        named
    ] * 3
    assert str(other.document_id) in form


def test_the_collection_of_a_question_stays_chosen_where_the_list_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("retrieval.knowledge.choices.CHOICES", 1)
    CollectionFactory(name="a")
    chunk = passage("Wages", collection=CollectionFactory(name="b"))
    answer = make_answer(QUESTION, [chunk], text="Ten [1].")
    page = client_of(person("Curators")).get(golden_address(answer)).content.decode()
    assert f'name="collection" value="{chunk.document.collection_id}"' in page


@pytest.mark.parametrize(("role", "status"), [("Curators", 400), ("Administrators", 302)])
@pytest.mark.parametrize("expects", ["ANSWER", "NO_ANSWER"])
def test_who_may_not_know_a_collection_makes_no_golden_question_there(
    role: str, status: int, expects: str
) -> None:
    chunk = passage(
        "Wages", collection=CollectionFactory(owner=UserFactory(), visibility="private")
    )
    answer = make_answer(QUESTION, [chunk], text="Ten [1].")
    body = {"text": QUESTION, "expects": expects, "document": str(chunk.document_id)}
    body["collection"] = str(chunk.document.collection_id)
    assert client_of(person(role)).post(golden_address(answer), body).status_code == status
    assert GoldenQuestion.objects.exists() == (status == 302)


def test_a_golden_question_of_an_unknown_collection_is_neither_told_nor_taken_back(
    answer: Message,
) -> None:
    private = CollectionFactory(owner=UserFactory(), visibility="private")
    question = GoldenQuestion.objects.create(
        text=QUESTION, collection=private, message=answer, expects="NO_ANSWER"
    )
    undo = reverse("review_golden_undo", args=[question.pk])
    for role, status in (("Curators", 404), ("Administrators", 302)):
        client = client_of(person(role))
        assert (undo in client.get(reverse("review_answer", args=[answer.pk])).text) == (
            status == 302
        )
        assert client.post(undo).status_code == status


def test_the_list_shows_it_to_those_alone_who_know_its_collection() -> None:
    private = CollectionFactory(owner=UserFactory(), visibility="private")
    GoldenQuestion.objects.create(
        text="What does Bob earn?", collection=private, created_by=UserFactory()
    )
    for role, seen in (("Curators", False), ("Administrators", True)):
        page = client_of(person(role)).get(reverse("review_golden"))
        assert (page.status_code, "Bob" in page.text) == (200, seen)


def test_a_golden_question_is_made_told_on_the_answer_and_taken_back(
    answer: Message, chunks: list[Chunk]
) -> None:
    curator = person("Curators")
    client = client_of(curator)
    body = {"text": QUESTION, "document": [str(chunks[1].document_id)], "expects": "ANSWER"}
    response = client.post(golden_address(answer), body)
    assert (response.status_code, response["Location"]) == (
        302,
        reverse("review_answer", args=[answer.pk]),
    )
    made = GoldenQuestion.objects.get()
    assert (made.message, made.created_by) == (answer, curator)
    assert list(made.documents.all()) == [chunks[1].document]
    undo = reverse("review_golden_undo", args=[made.pk])
    page = client.get(response["Location"]).content.decode()
    assert undo in page and "should find these documents" in page
    assert client.post(undo).status_code == 302
    assert not GoldenQuestion.objects.exists()
    assert client.post(undo).status_code == 404


def test_what_can_not_be_a_golden_question_is_said(answer: Message, chunks: list[Chunk]) -> None:
    client = client_of(person("Curators"))
    other = DocumentFactory(collection=CollectionFactory(visibility="public", owner=None))
    two = [str(chunks[0].document_id), str(other.pk)]
    for body, said in (
        ({"text": QUESTION, "expects": "ANSWER"}, "Tick at least one document"),
        ({"text": QUESTION, "expects": "ANSWER", "document": two}, "documents of one collection"),
        (
            {"text": QUESTION, "expects": "NO_ANSWER", "collection": str(uuid4())},
            "no such collection",
        ),
        ({"text": " ", "expects": "ANSWER", "document": two[:1]}, "Write the question"),
        (
            {
                "text": QUESTION,
                "expects": "REFINE",
                "collection": str(chunks[0].document.collection_id),
            },
            "One of",
        ),
    ):
        response = client.post(golden_address(answer), body)
        assert (response.status_code, said in response.content.decode()) == (400, True), said
    assert client.get(f"{reverse(GOLDEN)}?answer=nonsense").status_code == 404
    assert not GoldenQuestion.objects.exists()


@pytest.mark.parametrize(
    "wrong", [{"why": " "}, {"effect": "explode"}, {"days": "1000000"}, {"days": "x"}]
)
def test_a_wrong_boost_is_refused(
    answer: Message, chunks: list[Chunk], wrong: dict[str, Any]
) -> None:
    body = {"effect": "hide", "why": "Outdated.", "days": "7", **wrong}
    response = client_of(person("Curators")).post(boost_address(chunks[0], answer), body)
    assert response.status_code == 400 and "alert" in response.content.decode()
    assert not ManualBoost.objects.exists()


def test_a_document_that_a_curator_may_not_read_is_reached_by_an_answer_alone() -> None:
    drawer = CollectionFactory(name="drawer of alice", owner=UserFactory(), visibility="private")
    chunk = passage("Private words", collection=drawer, title="Diary")
    client = client_of(person("Curators"))
    assert client.get(boost_address(chunk)).status_code == 404
    answer = make_answer(QUESTION, [chunk])
    form = client.get(boost_address(chunk, answer))
    assert (form.status_code, "drawer of alice" in form.text) == (200, False)
    client.post(boost_address(chunk, answer), {"effect": "hide", "why": "x", "days": "7"})
    assert "Diary" not in client.get(reverse("review_boosts")).content.decode()


# ------------------------------------------------------------------------------------------------ roles
@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("", 403),
        ("user", 404),
        ("Reviewers", 403),
        ("Curators", 200),
        ("Administrators", 200),
        ("anonymous", 302),
    ],
)
def test_only_curators_and_administrators_improve(
    answer: Message, chunks: list[Chunk], who: str, status: int
) -> None:
    user: Any = None if who == "anonymous" else UserFactory() if who == "user" else person(who)
    client = client_of(user)
    checked = f"{reverse('review_curated_new')}?answer={answer.pk}"
    pages = (
        golden_address(answer),
        boost_address(chunks[0], answer),
        reverse("review_boosts"),
        checked,
    )
    for address in (*pages, reverse("review_curated")):
        assert client.get(address).status_code == status, address
    posted = 302 if status == 200 else status
    boost = ManualBoost.objects.create(document=chunks[0].document, hide=True, why="x")
    question = GoldenQuestion.objects.create(text="x", collection=chunks[0].document.collection)
    assert client.post(reverse("review_boost_end", args=[boost.pk])).status_code == posted
    assert client.post(reverse("review_golden_undo", args=[question.pk])).status_code == posted
    if who == "Reviewers":
        page = client.get(reverse("review_answer", args=[answer.pk])).content.decode()
        assert reverse(GOLDEN) not in page and "made-list" not in page


def test_a_boost_for_one_question_is_set_shown_and_undone(
    answer: Message, chunks: list[Chunk]
) -> None:
    client = client_of(person("Curators"))
    address = boost_address(chunks[0], answer)
    form = client.get(address).content.decode()
    assert f">{QUESTION}</textarea>" in form, "two clicks: the question is there already"
    body = {
        "effect": "hide",
        "why": "Of another library.",
        "days": "30",
        "whom": "question",
        "question": QUESTION,
    }
    assert client.post(address, body).status_code == 302
    boost = ManualBoost.objects.get()
    assert (boost.question, boost.hide) == (QUESTION, True)
    (rule,) = manual_rules()
    assert (rule.question, rule.target) == (wording(QUESTION), str(chunks[0].pk))
    assert QUESTION in client.get(reverse("review_boosts")).content.decode()
    end = reverse("review_boost_end", args=[boost.pk])
    assert end in client.get(reverse("review_answer", args=[answer.pk])).content.decode()
    client.post(address, {**body, "whom": "all", "effect": "lift"})
    assert ManualBoost.objects.filter(ended_at=None).count() == 2, (
        "one for every question stands beside it"
    )
    assert client.post(address, {**body, "question": " "}).status_code == 400
    client.post(end)
    assert ManualBoost.objects.get(pk=boost.pk).ended_at is not None
