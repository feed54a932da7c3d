"""Which passages a sentence of an answer cites, with the model's own markers right, wrong, or absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from django.conf import settings

from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.providers.builtin import BuiltinEmbedder, embed_texts
from retrieval.engine.steps.grounding.alignment import Aligner, align
from retrieval.engine.values import AnswerSource, EmbeddingSpace, Scores
from tests.retrieval.engine.steps.fakes import HANDBOOK, chunk, make_tools
from tests.retrieval.engine.steps.grounding.languages import ENGLISH, PASSAGES, Passage, sources_of

SOURCES = tuple(
    AnswerSource(marker=number, chunk=one, scores=Scores())
    for number, one in enumerate(HANDBOOK, start=1)
)
HINTS = [(), (1,), (2,), (6,), (3, 5)]


def cites(statement: str, question: str, hints: tuple[int, ...] = ()) -> tuple[int, ...]:
    return align(statement, SOURCES, question=question, hints=hints)


@pytest.mark.parametrize("hints", HINTS)
@pytest.mark.parametrize(
    ("statement", "question", "marker"),
    [
        ("The deposit for a room in Lakeside hall is EUR 300.", "How much is the deposit?", 3),
        (
            "You get it back within thirty days.",
            "When is the deposit for Lakeside hall paid back?",
            3,
        ),
        ("EUR 55.", "What does a late resit cost?", 6),
        ("Your password has expired.", "What does NLU-E107 mean?", 5),
        ("每学年五千欧元。", "校长奖学金多少钱？", 4),
        ("每學年5000歐元。", "校長獎學金多少錢？", 4),
    ],
)
def test_the_passage_that_says_it_is_cited_whatever_the_model_cited(
    statement: str, question: str, marker: int, hints: tuple[int, ...]
) -> None:
    assert marker in cites(statement, question, hints)
    assert not set(cites(statement, question, hints)) - {marker}


def test_of_two_versions_the_one_with_the_figure_is_cited() -> None:
    question = "How many books may an undergraduate borrow?"
    assert cites("An undergraduate may borrow 8 books.", question, (1,)) == (2,)
    assert cites("An undergraduate may borrow 12 books.", question, (2,)) == (1,)


def test_a_sentence_that_joins_facts_cites_both() -> None:
    statement = "A late resit costs EUR 55 and the deposit for Lakeside hall is EUR 300."
    assert cites(statement, "What do I pay?") == (3, 6)


@pytest.mark.parametrize(
    "statement", ["The canteen serves lunch until three.", "食堂供应午餐到下午三点。"]
)
@pytest.mark.parametrize("hints", [(), (1,)])
def test_what_no_passage_says_cites_nothing(statement: str, hints: tuple[int, ...]) -> None:
    readable = SOURCES[3:4] if statement[0] == "食" else SOURCES[:3]
    assert align(statement, readable, question="When is lunch?", hints=hints) == ()


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.language)
def test_beside_english_passages_one_in_any_language_is_cited_for_what_it_says(
    passage: Passage,
) -> None:
    sources = sources_of(*ENGLISH, passage.text)
    assert align(passage.said, sources, question="?") == (4,)
    assert align(passage.in_other_words, sources, question="?") == (4,)


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.language)
def test_among_passages_in_fourteen_languages_the_one_that_says_it_is_cited(
    passage: Passage,
) -> None:
    sources = sources_of(*ENGLISH, *(one.text for one in PASSAGES))
    assert align(passage.said, sources, question="?") == (4 + PASSAGES.index(passage),)


def test_in_another_language_the_model_is_believed() -> None:
    english = SOURCES[:3] + SOURCES[5:]
    assert align("密码已经过期。", english, question="什么意思？", hints=(1,)) == (1,)
    assert align("密码已经过期。", english, question="什么意思？") == ()


def test_a_marker_that_points_to_nothing_counts_for_nothing() -> None:
    assert cites("EUR 55.", "What does a late resit cost?", (99,)) == (6,)


@dataclass
class Meaning:
    """An embedder for which 补考 and "resit" are one. Serves as `Models`, too."""

    fails: bool = False

    @property
    def space(self) -> EmbeddingSpace:
        return EmbeddingSpace("meaning", 2)

    async def default_embedder(self) -> Meaning:
        if self.fails:
            raise EmbeddingUnavailableError("away")
        return self

    async def embedder(self, space: EmbeddingSpace) -> Meaning:
        return self

    async def embed_documents(self, texts) -> np.ndarray:
        return np.array(
            [[1.0, 0.0] if "resit" in text or "补考" in text else [0.0, 1.0] for text in texts]
        )

    embed_queries = embed_documents


async def test_in_another_language_the_nearest_by_vectors_is_cited() -> None:
    english = SOURCES[:3] + SOURCES[5:]
    models: Any = Meaning()
    by_vectors = Aligner(english, question="补考费多少？", models=models)
    assert await by_vectors("补考要交钱。", (1,)) == [6]
    models.fails = True
    away = Aligner(english, question="补考费多少？", models=models)
    assert (await away("补考要交钱。", (1,)), away.failure and away.failure.text) == ((1,), "away")


async def test_a_passage_in_another_language_is_cited_beside_passages_in_that_of_the_answer() -> (
    None
):
    models: Any = Meaning()
    sources = (*SOURCES[:6],)
    cited = await Aligner(sources, question="补考费多少？", models=models)("补考要交钱。", ())
    assert cited == [6]


REFUSALS = [
    (
        "I don't know: the sources given do not say.",
        "A card is not given on the phone. Say your name at the desk and bring a photo ID and a proof of address.",
    ),
    (
        "The passages do not mention this.",
        "Lockers are free for members. Bicycles are not allowed in the hall, and dogs stay outside.",
    ),
    (
        "Nothing is said about that.",
        "Nothing is charged for the first hour; after that a room costs £4 an hour.",
    ),
    ("文档没有说明。", "没有预约的病人请先到一楼导诊台登记，再到二楼候诊，缴费请使用自助机。"),
    (
        "Die Quellen sagen dazu nichts.",
        "Sagen Sie am Schalter Ihren Namen. Für die erste Stunde wird nichts berechnet, danach kostet der Raum 4 Euro.",
    ),
]


def quoted(*texts: str) -> tuple[AnswerSource, ...]:
    return tuple(
        AnswerSource(marker=number, chunk=chunk(number, text), scores=Scores())
        for number, text in enumerate(texts, start=1)
    )


@pytest.fixture
def builtin_model() -> None:
    embed_texts(["ready"])  # loading it may take longer than a sentence waits


@pytest.mark.parametrize(("refusal", "text"), REFUSALS)
async def test_a_refusal_that_shares_small_words_with_a_passage_cites_none(
    offline, builtin_model, refusal: str, text: str
) -> None:
    sources = quoted(text, "The deposit for a room is EUR 300.")
    aligner = Aligner(
        sources, question="What does a resit cost?", models=make_tools(settings.RAG).models
    )
    assert list(await aligner(refusal, (1,))) == []


class NearestOnly(Meaning):
    """Vectors alone rank; whether the nearest is meant is left to the real built-in model."""

    async def embedder(self, space: EmbeddingSpace) -> Any:
        return BuiltinEmbedder()


async def test_a_refusal_in_another_language_than_the_nearest_passage_cites_none(
    builtin_model,
) -> None:
    models: Any = NearestOnly()
    aligner = Aligner(
        quoted("四路公交车从火车站开往港口广场，每十分钟一班。"),
        question="Which bus?",
        models=models,
    )
    assert list(await aligner("I don't know: the sources given do not say.", (1,))) == []
    assert list(await aligner("Bus line 4 runs from the train station to Harbour Square.", ())) == [
        1
    ]


async def test_a_statement_in_words_of_its_own_still_cites_its_passage(
    offline, builtin_model
) -> None:
    sources = quoted(
        "Dogs on a lead are welcome in the garden of the café.",
        "The deposit for a room is EUR 300.",
    )
    aligner = Aligner(
        sources, question="Can I bring my pet?", models=make_tools(settings.RAG).models
    )
    assert list(
        await aligner("Yes, you may take dogs into the garden if they wear a lead.", ())
    ) == [1]


async def test_without_the_built_in_model_words_alone_decide_and_the_reason_is_kept(
    offline, monkeypatch
) -> None:
    def broken(texts: Any) -> Any:
        raise EmbeddingUnavailableError("the weights are gone")

    monkeypatch.setattr("retrieval.engine.providers.builtin.embed_texts", broken)
    sources = quoted("Dogs on a lead are welcome in the garden of the café.")
    aligner = Aligner(
        sources, question="Can I bring my pet?", models=make_tools(settings.RAG).models
    )
    assert list(
        await aligner("Yes, you may take dogs into the garden if they wear a lead.", ())
    ) == [1]
    assert aligner.failure and aligner.failure.text == "the weights are gone"
