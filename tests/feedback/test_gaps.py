"""Knowledge gaps: which questions count, and which are about the same."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from chat.models import Message
from feedback.curation import gap_selectors
from feedback.curation.gap_selectors import ANY_COLLECTION, GAP_DAYS, unanswered_questions
from feedback.curation.gaps import Gap, Unanswered, find_gaps
from feedback.models import QuestionVector, RatedQuestion
from feedback.rounds.questions import signature, vector_encode
from retrieval.text.analysis import analyze, query_terms
from tests.factories import (
    CollectionFactory,
    DecisionStepFactory,
    MessageFactory,
    RatingFactory,
    SessionFactory,
    UserFactory,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def unanswered(text: str, *, at: int = 0, **fields: Any) -> Unanswered:
    given: dict[str, Any] = {
        "collection": "", "reasons": frozenset({"no_answer"}), "asker": 1,
        "terms": tuple(dict.fromkeys(analyze(text))),
        "words": tuple(dict.fromkeys(query_terms(text))), "at": NOON + timedelta(hours=at), **fields,
    }  # fmt: skip
    return Unanswered(text=text, **given)


def found(*asked: Unanswered) -> list[Gap]:
    return find_gaps(asked, overlap=0.45, cosine=0.8)


def knowledge_gaps(*, collection: str | None = None, days: int = GAP_DAYS) -> list[Gap]:
    rows = unanswered_questions(timezone.now() - timedelta(days=days), gap_selectors.GAP_QUESTIONS)
    return found(*(one for one in rows if collection in (None, one.collection)))


def not_answered(text: str, **fields: Any) -> Message:
    """An answer that says that nothing was found."""
    session = SessionFactory()
    asked = MessageFactory(session=session, question=True, text=text)
    fields = {"decision": "NO_ANSWER", "text": "The documents do not say.", **fields}
    message: Message = MessageFactory(session=session, reply_to=asked, **fields)
    return message


# ------------------------------------------------------------------------------------------------ clustering
ENGLISH = [
    ["Where can I park my bike?", "bike parking", "Is there parking for bikes on campus?"],
    ["How do I reset my wifi password?", "reset wifi password", "My WiFi password needs a reset"],
    ["Who signs the internship contract?", "internship contract signature: who signs it?"],
]
CHINESE = [
    ["图书馆几点开门", "图书馆开放到几点"],
    ["如何重置无线网络密码？", "無線網絡密碼怎麼重置", "重置无线网络密码"],
    ["怎么申请奖学金", "奖学金申请流程"],
]


@pytest.mark.parametrize("groups", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_questions_about_the_same_make_one_gap(groups: list[list[str]]) -> None:
    gaps = found(*(unanswered(text) for group in groups for text in group))
    assert sorted(sorted(gap.examples) for gap in gaps) == sorted(sorted(group) for group in groups)


def test_the_order_of_the_questions_changes_nothing() -> None:
    asked = [unanswered(text, at=at) for group in ENGLISH + CHINESE for at, text in enumerate(group)]
    shuffled = random.Random(3).sample(asked, len(asked))
    assert found(*asked) == found(*shuffled)


def test_a_gap_counts_questions_people_and_reasons() -> None:
    both = frozenset({"no_answer", "badly_rated"})
    (gap,) = found(
        unanswered("Bike parking?", asker=1, at=0),
        unanswered("bike parking", asker=1, at=2, reasons=both),
        unanswered("parking for my bike", asker=2, at=1, reasons=frozenset({"failed"})),
    )
    assert (gap.count, gap.people) == (3, 2)
    assert (gap.no_answer, gap.badly_rated, gap.failed) == (2, 1, 1)
    assert (gap.first_seen, gap.last_seen) == (NOON, NOON + timedelta(hours=2))
    assert gap.question == "bike parking"
    assert set(gap.terms) == {"bike", "parking"}


def test_the_most_asked_gap_comes_first() -> None:
    gaps = found(unanswered("dogs in the library"), *(unanswered("canteen menu", at=at) for at in range(3)))
    assert [gap.count for gap in gaps] == [3, 1]


def test_collections_have_gaps_of_their_own() -> None:
    gaps = found(unanswered("bike parking", collection="campus"), unanswered("bike parking", collection="city"))
    assert sorted((gap.collection, gap.count) for gap in gaps) == [("campus", 1), ("city", 1)]
    assert gaps[0].id != gaps[1].id


def test_near_embeddings_join_questions_without_a_common_word() -> None:
    near = np.asarray([0.9, np.sqrt(1 - 0.81)], dtype=np.float32)
    one = unanswered("canteen hours", vectors={"m/2": np.asarray([1, 0], dtype=np.float32)})
    other = unanswered("When can I have lunch?", vectors={"m/2": near})
    elsewhere = unanswered("When can I have lunch?", vectors={"another/2": near})
    assert len(found(one, other)) == 1
    assert len(found(one, elsewhere)) == 2


def test_questions_of_stop_words_alone_are_kept_apart_by_their_text() -> None:
    assert sorted(gap.question for gap in found(unanswered("What is it?"), unanswered("And you?"))) == [
        "And you?", "What is it?",
    ]  # fmt: skip


def test_nothing_asked_is_no_gap() -> None:
    assert found() == []


def test_only_clusters_with_a_rare_term_in_common_are_compared_and_none_is_missed() -> None:
    """The shortcut gives what comparing everything would."""
    words = random.Random(11)
    asked = [unanswered("?", terms=tuple(words.sample("abcdefghijklmnop", 4))) for _ in range(300)]
    gaps = find_gaps(asked, overlap=0.6, cosine=0.8)
    assert len(gaps) > 10
    assert _all_pairs(asked, 0.6) == sorted(gap.count for gap in gaps)


def _all_pairs(asked: list[Unanswered], overlap: float) -> list[int]:
    """Sizes of the clusters, by comparing every wording with every leader."""
    keys: dict[str, list[Unanswered]] = {}
    for one in asked:
        keys.setdefault(one.key, []).append(one)
    held = [term for ones in keys.values() for term in ones[0].terms]
    weight = {term: np.log1p(len(keys) / held.count(term)) for term in held}
    leaders: list[tuple[set[str], int]] = []
    for key, ones in sorted(keys.items(), key=lambda item: (-len(item[1]), -len(item[1][0].terms), item[0])):
        terms = set(key.split())
        norm = np.sqrt(sum(weight[term] ** 2 for term in terms))
        likeness = [
            sum(weight[term] ** 2 for term in terms & other) / norm / np.sqrt(sum(weight[term] ** 2 for term in other))
            for other, _ in leaders
        ]
        best = int(np.argmax(np.round(likeness, 12))) if likeness else -1
        if best >= 0 and likeness[best] >= overlap:
            leaders[best] = (leaders[best][0], leaders[best][1] + len(ones))
        else:
            leaders.append((terms, len(ones)))
    return sorted(count for _, count in leaders)


# ------------------------------------------------------------------------------------------------ what counts
@pytest.mark.django_db
def test_unanswered_failed_and_badly_rated_questions_are_gaps() -> None:
    not_answered("Where is bike parking?")
    not_answered("Who repairs the projector?", decision="", status="failed")
    bad = not_answered("When is the graduation ceremony?", decision="ANSWER")
    RatingFactory(message=bad, score=2)
    told = {gap.question: (gap.no_answer, gap.failed, gap.badly_rated) for gap in knowledge_gaps()}
    assert told == {
        "Where is bike parking?": (1, 0, 0),
        "Who repairs the projector?": (0, 1, 0),
        "When is the graduation ceremony?": (0, 0, 1),
    }


@pytest.mark.django_db
def test_good_answers_style_old_and_rewritten_ones_are_no_gaps() -> None:
    RatingFactory(message=not_answered("Well rated?", decision="ANSWER"), score=4)
    RatingFactory(message=not_answered("Only its style?", decision="ANSWER"), score=1, tags=["style"])
    not_answered("Asked back?", decision="CLARIFY")
    not_answered("Written anew?", superseded=True)
    old = not_answered("Long ago?")
    Message.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=100))
    assert knowledge_gaps() == []
    assert [gap.question for gap in knowledge_gaps(days=200)] == ["Long ago?"]


@pytest.mark.django_db
def test_a_question_counts_in_each_collection_that_it_was_asked_of() -> None:
    not_answered("Bike parking?", request={"collections": ["campus", "city"]})
    not_answered("Bike parking?")
    assert sorted(gap.collection for gap in knowledge_gaps()) == ["", "campus", "city"]
    assert [gap.collection for gap in knowledge_gaps(collection="city")] == ["city"]
    assert [gap.collection for gap in knowledge_gaps(collection=ANY_COLLECTION)] == [""]


@pytest.mark.django_db
def test_a_collection_has_one_name_whatever_the_askers_called_it() -> None:
    sites, others = CollectionFactory(name="campus"), CollectionFactory(name="city", owner=UserFactory(username="ada"))
    for name, collection in (("campus", sites), ("site:campus", sites), ("city", others)):
        request = {"collections": [name], "collection_ids": [str(collection.pk)]}
        not_answered("Bike parking?", request=request)
    assert [(gap.collection, gap.count) for gap in knowledge_gaps()] == [("campus", 2), ("ada/city", 1)]


@pytest.mark.django_db
def test_a_follow_up_counts_as_it_was_searched_for() -> None:
    message = not_answered("And for bikes?")
    queries = [{"kind": "original", "text": "Where is parking for bikes?"}]
    DecisionStepFactory(message=message, detail={"queries": queries})
    assert knowledge_gaps()[0].question == "Where is parking for bikes?"


@pytest.mark.django_db
def test_embeddings_of_rated_questions_are_used(rag_settings: Any) -> None:
    for text, vector in (("Canteen hours?", [1.0, 0.0]), ("When can I have lunch?", [1.0, 0.0])):
        RatingFactory(message=not_answered(text), score=1)
        rated = RatedQuestion.objects.create(signature=signature(text), text=text)
        QuestionVector.objects.create(
            question=rated, embedding_model="m", embedding_dim=2, vector=vector_encode(np.asarray(vector, np.float32))
        )
    assert [gap.count for gap in knowledge_gaps()] == [2]


@pytest.mark.django_db
def test_only_the_newest_questions_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.curation.gap_selectors.GAP_QUESTIONS", 1)
    for number, text in enumerate(["Bike parking?", "Canteen menu?"]):
        message = not_answered(text)
        Message.objects.filter(pk=message.pk).update(created_at=timezone.now() - timedelta(hours=5 - number))
    assert [gap.question for gap in knowledge_gaps()] == ["Canteen menu?"]
