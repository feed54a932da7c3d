"""Votes move the query: how far, towards what, by whose passages, and what a search on a real index makes of it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings

from feedback.models import PassageVector, RatedPassage, Revision
from feedback.ranking.query_moves import Bounds, PassageVectors, moved, strongest_passages
from feedback.ranking.question_groups import DecidedPairs
from feedback.ranking.question_similarity import AskedQuestion
from feedback.ranking.snapshot import Content, RatedQuestions, Snapshot, parameters
from feedback.rounds.boost_source import LiveBoosts
from feedback.rounds.live import content_of, snapshot_make
from feedback.rounds.query_moves import moved_request
from feedback.rounds.round import RoundOutcome, feedback_round
from ragsite.core.errors import UnavailableError
from ragsite.core.rag_settings import MilvusSettings
from retrieval.engine import close_engine, get_engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.models import Chunk
from retrieval.ports import SearchRequest
from retrieval.search.hybrid import HybridSearcher
from retrieval.search.index import MilvusIndex
from retrieval.steps.retrieve.retrieve import search_documents
from retrieval.values import (
    Boosts,
    CollectionRef,
    EmbeddingSpace,
    MovedQuery,
    Query,
    QueryMoves,
    Scores,
    SearchScope,
    TailHit,
)
from tests.factories import CollectionFactory
from tests.feedback.rated import liked, passage
from tests.feedback.test_snapshot import tallies
from tests.milvus import COLLECTION, SPACE, ids, row, unit_vector
from tests.retrieval.steps.fakes import HANDBOOK, MemorySearcher, context, make_tools
from tests.retrieval.test_hybrid import Parts

BOUNDS = Bounds(weight=0.75, angle=25.0)
ASKED = unit_vector(1.0)
GOOD, OTHER = unit_vector(0.0, 1.0), unit_vector(0.0, 0.0, 1.0)
TEXT = "How many books may I borrow?"


def turned(net_votes: Sequence[float], bounds: Bounds = BOUNDS) -> tuple[np.ndarray, float] | None:
    return moved(ASKED, np.stack([GOOD, OTHER]), np.asarray(net_votes), full_votes=3.0, bounds=bounds)


def angle(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(left @ right, -1.0, 1.0))))


# ------------------------------------------------------------------------------------------------ arithmetic
@pytest.mark.parametrize("votes", [(3.0, 0.0), (99.0, 99.0), (0.5, 1.0)])
def test_the_vector_turns_towards_good_passages_by_at_most_the_bound(votes: tuple[float, float]) -> None:
    found = turned(votes)
    assert found is not None
    vector, degrees = found
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    assert 0.0 < degrees <= BOUNDS.angle
    assert angle(vector, ASKED) == pytest.approx(degrees, abs=0.1)
    assert vector @ GOOD > ASKED @ GOOD


def test_few_votes_turn_less_than_many() -> None:
    one, three = turned((0.3, 0.0)), turned((3.0, 0.0))
    assert one and three
    assert one[1] < three[1]


@pytest.mark.parametrize("votes", [(0.0, 0.0), (-3.0, -3.0)])
def test_votes_against_alone_move_nothing(votes: tuple[float, float]) -> None:
    assert turned(votes) is None
    assert turned(votes, replace(BOUNDS, away_weight=0.5)) is None


def test_of_too_many_passages_those_with_the_most_votes_are_kept() -> None:
    chosen = strongest_passages(np.asarray([4, 2, 9, 4]), np.asarray([1.0, 3.0, -9.0, 2.0]), limit=1)
    assert chosen.tolist() == [2]


# ------------------------------------------------------------------------------------------------ a revision
def content(**fields: Any) -> Content:
    return Content(
        queries=tallies((1, 10, 3.0, 0.0), (1, 11, 3.0, 0.0)), documents={}, parameters=parameters(),
        moving=np.asarray([10, 11]), **fields,
    )  # fmt: skip


def snapshot(revision: Content) -> Snapshot:
    """Passage 10 is in collection "open", 11 in "closed"."""
    questions = RatedQuestions(ids=np.asarray([1]), texts=[TEXT], terms=[["book", "borrow"]])
    vectors = PassageVectors(
        passages=np.asarray([10, 11]), vectors=np.stack([GOOD, OTHER]).astype(np.float16),
        collections=np.asarray(["open", "closed"]),
    )  # fmt: skip
    return Snapshot(revision, questions, {10: "k10", 11: "k11"}, passages={SPACE: vectors})


def ask(*terms: str) -> AskedQuestion:
    return AskedQuestion(text=TEXT, terms=terms, vectors={SPACE: ASKED})


def test_passages_of_collections_that_the_user_may_not_read_do_not_move_the_query() -> None:
    [move] = snapshot(content()).moves(ask("book", "borrow"), ["open"])
    assert move.passages == 1
    assert move.vector @ OTHER == pytest.approx(0.0, abs=1e-6)
    assert snapshot(content()).moves(ask("book", "borrow"), ["elsewhere"]) == ()


def test_another_question_is_not_moved() -> None:
    assert snapshot(content()).moves(ask("swimming", "pool"), ["open", "closed"]) == ()


def test_a_passage_whose_text_is_gone_does_not_move_the_query() -> None:
    one = snapshot(content())
    questions = RatedQuestions(ids=np.asarray([1]), texts=[TEXT], terms=[["book", "borrow"]])
    gone = Snapshot(content(), questions, {11: "k11"}, passages=one._passages)
    [move] = gone.moves(ask("book", "borrow"), ["open", "closed"])
    assert move.vector @ GOOD == pytest.approx(0.0, abs=1e-6)


def test_boosts_and_moves_of_one_question_compare_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, compared = snapshot(content()), []
    original = Snapshot._similarities

    def counting(self: Snapshot, asked: AskedQuestion) -> Any:
        compared.append(asked.text)
        return original(self, asked)

    monkeypatch.setattr(Snapshot, "_similarities", counting)
    asked = ask("book", "borrow")
    similarities = one.similarities(asked)
    assert one.moves(asked, ["open"], similarities=similarities)
    one.boosts(asked, [TailHit(chunk_id="k10", document_id="d", scores=Scores(fused=1.0))], similarities=similarities)
    assert compared == [TEXT]


def test_among_many_rated_questions_the_nearest_one_moves_the_query() -> None:
    count = 500
    questions = RatedQuestions(
        ids=np.arange(count), texts=[TEXT if number == 317 else f"rule {number}" for number in range(count)],
        terms=[[f"t{number}", "common"] for number in range(count)],
    )  # fmt: skip
    vectors = PassageVectors(passages=np.asarray([10]), vectors=GOOD[np.newaxis], collections=np.asarray(["open"]))
    many = Content(
        queries=tallies(*[(number, 10, 3.0, 0.0) for number in range(count)]), documents={}, parameters=parameters(),
        moving=np.asarray([10]),
    )  # fmt: skip
    one = Snapshot(many, questions, {10: "k10"}, passages={SPACE: vectors})
    assert one.moves(ask("t317", "common"), ["open"])
    assert one.moves(ask("unknown"), ["open"]) == ()


def test_a_question_moves_the_query_that_was_decided_to_want_the_same_as_the_nearest_one() -> None:
    count = 500
    texts = [f"What does rule {number}x say?" for number in range(count)]
    texts[317] = TEXT
    terms = [[f"{number}x", "rule"] for number in range(count)]
    terms[317], terms[400] = ["book", "borrow"], ["loan", "limit"]
    texts[400] = "What is the loan limit?"
    questions = RatedQuestions(ids=np.arange(count), texts=texts, terms=terms)
    vectors = PassageVectors(passages=np.asarray([10]), vectors=GOOD[np.newaxis], collections=np.asarray(["open"]))
    only_other = [(number, 10, 3.0, 0.0) for number in range(count) if number != 317]
    pairs = DecidedPairs(np.asarray([[317, 400]]), np.asarray([1.0], dtype=np.float32))
    many = Content(queries=tallies(*only_other), documents={}, parameters=parameters(), moving=np.asarray([10]))

    def people(revision: Content) -> int:
        one = Snapshot(revision, questions, {10: "k10"}, passages={SPACE: vectors})
        return sum(move.people for move in one.moves(ask("book", "borrow"), ["open"]))

    assert (people(many), people(replace(many, pairs=pairs))) == (0, 3)


def test_what_moves_is_stored_and_makes_another_digest() -> None:
    revision = content()
    assert Content.decode(revision.encode()).moving.tolist() == [10, 11]
    assert replace(revision, moving=np.asarray([10])).digest() != revision.digest()


def test_a_revision_of_an_earlier_version_is_read_and_moves_nothing() -> None:
    with np.load(io.BytesIO(content().encode())) as stored:
        former = {name: stored[name] for name in stored.files if name != "moving"}
    old = {name: value for name, value in parameters().items() if not name.startswith("move")}
    former["parameters"] = np.frombuffer(str(old).replace("'", '"').encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **former)
    read = Content.decode(buffer.getvalue())
    assert len(read.queries) == 2
    assert snapshot(read).moves(ask("book", "borrow"), ["open", "closed"]) == ()


# ------------------------------------------------------------------------------------------------ a search
def moves(vector: np.ndarray) -> tuple[MovedQuery, ...]:
    return (MovedQuery(space=SPACE, vector=vector, degrees=20.0, passages=1, people=2),)


class Knowing(Parts):
    """Embeds every query as ASKED."""

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        return np.stack([ASKED] * len(texts))


async def test_a_moved_query_ranks_by_the_moved_vector_and_shows_the_cosine_with_the_question(
    index: MilvusIndex,
) -> None:
    near, good = row("pool", 1.0, 0.1, chunk_id="near"), row("garden", 0.5, 1.0, chunk_id="good")
    await index.upsert(SPACE, [near, good, row("wall", 0.0, 0.0, 1.0, chunk_id="far")])
    parts = Knowing()
    searcher: Any = HybridSearcher(index=index, store=parts, models=parts, settings=settings.RAG.search)  # type: ignore[arg-type]
    scope = SearchScope((CollectionRef(id=COLLECTION, name="c", space=SPACE),))
    request = SearchRequest(queries=(Query("books"),), scope=scope, top_k=2)
    plain = await searcher.search(request)
    led = await searcher.search(replace(request, moves=moves(unit_vector(0.4, 1.0))))
    assert ids(plain.candidates) == ["near", "good"]
    assert ids(led.candidates) == ["good", "near"]
    cosine = {hit.chunk_id: hit.scores.dense for hit in plain.candidates}
    assert {hit.chunk_id: hit.scores.dense for hit in led.candidates} == pytest.approx(cosine)
    assert led.candidates[0].ranks["original:moved"] == 1


async def test_a_moved_query_finds_nothing_outside_the_scope(index: MilvusIndex) -> None:
    secret = row("secret", 0.0, 1.0, chunk_id="secret", collection_id="22222222-2222-2222-2222-222222222222")
    await index.upsert(SPACE, [row("pool", 1.0, chunk_id="open"), secret])
    parts = Knowing()
    searcher: Any = HybridSearcher(index=index, store=parts, models=parts, settings=settings.RAG.search)  # type: ignore[arg-type]
    scope = SearchScope((CollectionRef(id=COLLECTION, name="c", space=SPACE),))
    found = await searcher.search(SearchRequest(queries=(Query("books"),), scope=scope, moves=moves(GOOD)))
    assert ids((*found.candidates, *found.tail_hits)) == ["open"]


# ------------------------------------------------------------------------------------------------ the decision path
class Source:
    def __init__(self, answer: QueryMoves | Exception) -> None:
        self.answer = answer

    async def current(self) -> Source:
        return self

    async def moves(self, query: str, scope: SearchScope) -> QueryMoves:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def boosts(self, query: str, candidates: Any) -> Boosts:
        return Boosts()


async def looked(answer: QueryMoves | Exception) -> tuple[Any, Any, MemorySearcher]:
    searcher = MemorySearcher(HANDBOOK)
    tools = make_tools(settings.RAG, searcher=searcher, boosts=Source(answer))
    within = context(tools)
    request = SearchRequest(
        queries=(Query("deposit Lakeside hall"),),
        scope=SearchScope((CollectionRef(id="c1", name="handbook", space=SPACE),)),
    )
    result = await search_documents(within, request)
    entry = next(step for step in within.run.trace.steps if step.name == "retrieve")
    return result, entry, searcher


async def test_the_decision_path_says_what_moved_the_query() -> None:
    _, entry, searcher = await looked(QueryMoves(moves=moves(GOOD)))
    assert "moved 20° towards 1 passage that 2 people found useful for the same question" in entry.summary
    assert entry.detail["moved"] == [{"space": SPACE.model, "degrees": 20.0, "passages": 1, "people": 2}]
    assert searcher.requests[0].moves


async def test_ratings_that_can_not_be_read_leave_the_query_as_it_is_and_the_path_says_so() -> None:
    result, entry, searcher = await looked(UnavailableError("no database"))
    assert searcher.requests[0].moves == ()
    assert result.candidates
    assert "ratings could not move the query: no database" in result.degraded
    assert "ratings could not move the query" in str(entry.as_dict())


# ------------------------------------------------------------------------------------------------ a round
@pytest.fixture
def rated(offline: None, milvus: MilvusSettings, db: None, monkeypatch: pytest.MonkeyPatch) -> Chunk:
    """A passage that three people found useful, in a collection with an embedding model, in the index."""
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)
    collection = CollectionFactory(embedding_model=SPACE.model, embedding_dim=SPACE.dim)
    chunk = passage("Ten books.", collection=collection)
    in_index = row(
        "ten books", 0.0, 1.0, chunk_id=str(chunk.pk), collection_id=str(collection.pk),
        document_id=str(chunk.document_id),
    )  # fmt: skip

    async def fill() -> None:
        await get_engine().index.upsert(SPACE, [in_index])
        await close_engine()

    async_to_sync(fill)()
    liked(TEXT, chunk, by=3)
    return chunk


def live() -> Content:
    return content_of(Revision.objects.get(status=Revision.Status.LIVE))


def test_a_round_reads_the_vectors_of_good_passages_from_the_index(rated: Chunk) -> None:
    outcome = feedback_round()
    [stored] = RatedPassage.objects.all()
    assert outcome.status == "live", outcome
    assert live().moving.tolist() == [stored.pk]
    collection = str(rated.document.collection_id)
    asked = replace(ask("mani", "book", "borrow"), vectors={SPACE: ASKED})
    request = SearchRequest(
        queries=(Query(TEXT),), scope=SearchScope((CollectionRef(id=collection, name="c", space=SPACE),))
    )
    [move] = moved_request(request, snapshot_make(live()), asked).moves
    assert (move.passages, move.people) == (1, 3)
    assert move.vector @ GOOD > 0.2


def away(rag_settings: Any, monkeypatch: pytest.MonkeyPatch) -> RoundOutcome:
    rag_settings(milvus={"uri": "http://127.0.0.1:9"})
    monkeypatch.setattr("retrieval.search.index.connection.CONNECT_TIMEOUT_S", 0.2)
    monkeypatch.setattr("retrieval.search.index.connection.TIMEOUT_S", 0.5)
    return feedback_round()


def test_without_the_index_a_round_says_what_it_left_out_and_the_next_one_adds_it(
    rated: Chunk, milvus: MilvusSettings, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = away(rag_settings, monkeypatch)
    assert any("not moved towards some well-rated passages" in note for note in outcome.notes), outcome
    assert live().moving.tolist() == []
    rag_settings(milvus=milvus)
    assert feedback_round().status == "live"
    assert len(live().moving) == 1


def test_without_the_index_former_passages_still_move_queries(
    rated: Chunk, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    feedback_round()
    before = live().moving.tolist()
    liked("When does the pool open?", passage("At seven.", collection=rated.document.collection), by=3)
    assert away(rag_settings, monkeypatch).status == "live"
    assert live().moving.tolist() == before


def test_a_deleted_document_takes_its_vectors_along(rated: Chunk) -> None:
    feedback_round()
    rated.document.delete()
    assert not PassageVector.objects.exists()
    assert snapshot_make(live()).moves(ask("mani", "book", "borrow"), []) == ()


# ------------------------------------------------------------------------------------------------ as a search asks
class Models:
    """Every query is ASKED to it."""

    def __init__(self, *, away: bool = False) -> None:
        self.away, self.embedded = away, 0

    async def embedder(self, space: EmbeddingSpace) -> Models:
        if self.away:
            raise EmbeddingUnavailableError("Ollama is not reachable")
        return self

    async def embed_query(self, text: str) -> Any:
        self.embedded += 1
        return ASKED


def moves_live(chunk: Chunk, models: Models, *, collection: str = "") -> QueryMoves:
    """Of the live revision, for somebody who may read this collection."""
    collection = collection or str(chunk.document.collection_id)
    scope = SearchScope((CollectionRef(id=collection, name="c", space=SPACE),))

    async def ask_twice() -> QueryMoves:
        revision = await LiveBoosts(models, settings.RAG.feedback).current()  # type: ignore[arg-type]
        await revision.moves(TEXT, scope)
        return await revision.moves(TEXT, scope)

    return async_to_sync(ask_twice)()


@pytest.mark.django_db(transaction=True)
def test_a_search_gets_the_moves_of_the_live_revision_and_embeds_the_question_once(rated: Chunk) -> None:
    feedback_round()
    models = Models()
    [move] = moves_live(rated, models).moves
    assert (move.space, move.passages, move.people) == (SPACE, 1, 3)
    assert models.embedded == 1


@pytest.mark.django_db(transaction=True)
def test_somebody_who_may_not_read_the_rated_passages_gets_no_moves(rated: Chunk) -> None:
    feedback_round()
    assert moves_live(rated, Models(), collection=COLLECTION).moves == ()


@pytest.mark.django_db(transaction=True)
def test_without_the_embedding_model_nothing_is_moved(rated: Chunk) -> None:
    feedback_round()
    assert moves_live(rated, Models(away=True)) == QueryMoves()
