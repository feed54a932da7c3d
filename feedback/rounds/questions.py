"""Rated questions: looked up or made by their words, embedded, and deleted with the last person who asked them.

They are embedded in the spaces of the collections that their evidence is in. Without its model a question is compared
by terms alone until a later round can embed it. The lexical space is made of terms, so it needs no vectors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db.models import Exists, OuterRef
from django.utils import timezone

from feedback.models import Evidence, QuestionVector, RatedQuestion
from feedback.rounds.bulk_rows import rows_add
from feedback.rounds.deletions import written
from feedback.rounds.live import vector_encode
from feedback.rounds.passages import text_digest
from ragsite.core.wording import joined
from retrieval.engine import Engine, close_engine, get_engine, has_engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.models import Collection
from retrieval.providers.lexical import SPACE as LEXICAL_SPACE
from retrieval.text.analysis import query_terms
from retrieval.values import EmbeddingSpace

MAX_TERMS = 96
MOST_KEPT = 60_000  # questions in memory: about 10 MiB
IN_CALL = 64
MOST_IN_A_ROUND = 5000  # questions to embed; the rest waits for the next round
Result = TypeVar("Result")


def signature(text: str, terms: Sequence[str]) -> str:
    """The same for questions that differ only in case, punctuation, stop words and endings. terms: analysed."""
    return text_digest(" ".join(terms) or "text:" + " ".join(text.casefold().split())).hex()


class QuestionReader:
    """Keeps what it has read, since the same questions come again and again in a round."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}  # by the digest of its text, which is smaller than the text

    def forget(self) -> None:
        self._known.clear()

    def questions(self, texts: Iterable[str]) -> dict[str, int]:
        """Text → the rated question, made where it is new. Blank texts are left out."""
        digest_of = {text: text_digest(text) for text in texts if text.strip()}
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        new = {text: query_terms(text)[:MAX_TERMS] for text, digest in digest_of.items() if digest not in self._known}
        if new:
            signatures = {text: signature(text, terms) for text, terms in new.items()}
            now = timezone.now()
            new_rows = [(signatures[text], text, " ".join(dict.fromkeys(terms)), now) for text, terms in new.items()]
            rows_add(RatedQuestion, ["signature", "text", "terms", "created_at"], new_rows)
            rows = RatedQuestion.objects.filter(signature__in=set(signatures.values())).order_by()
            ids: dict[str, int] = dict(rows.values_list("signature", "pk"))
            self._known.update((digest_of[text], ids[signatures[text]]) for text in new)
        return {text: self._known[digest] for text, digest in digest_of.items()}


# ------------------------------------------------------------------------------------------------ embedded
def questions_embed(*, report: Callable[[], None] = lambda: None) -> str:
    """Returns why some questions could not be embedded, or nothing. `report` is called after each batch."""
    rows = Collection.objects.exclude(embedding_model="").order_by().values_list("embedding_model", "embedding_dim")
    spaces = [EmbeddingSpace(model, dim) for model, dim in rows.distinct() if dim]
    reasons = [_embed(space, report) for space in spaces if space != LEXICAL_SPACE]
    return joined("; ", dict.fromkeys(filter(None, reasons))) if any(reasons) else ""


def _embed(space: EmbeddingSpace, report: Callable[[], None]) -> str:
    in_space = {"embedding_model": space.model, "embedding_dim": space.dim}
    known = QuestionVector.objects.filter(question=OuterRef("pk"), **in_space)
    wanted = {f"passage__document__collection__{name}": value for name, value in in_space.items()}
    evidence = Evidence.objects.filter(question=OuterRef("pk"), **wanted)
    rows = RatedQuestion.objects.filter(~Exists(known), Exists(evidence)).order_by("pk")
    missing = list(rows.values_list("pk", "text")[:MOST_IN_A_ROUND])
    if not missing:
        return ""

    async def work(engine: Engine) -> str:
        try:
            embedder = await engine.models.embedder(space)
            for start in range(0, len(missing), IN_CALL):
                batch = missing[start : start + IN_CALL]
                vectors = map(vector_encode, await embedder.embed_queries([text for _, text in batch]))
                vector_of = dict(zip((question for question, _ in batch), vectors, strict=True))
                await sync_to_async(written)(partial(_vectors_add, vector_of, space))
                await sync_to_async(report)()
        except EmbeddingUnavailableError as error:
            return error.reason
        return ""

    return with_engine(work)


def _vectors_add(vector_of: Mapping[int, bytes], space: EmbeddingSpace) -> None:
    """Of the questions that nobody has deleted since they were read."""
    left = RatedQuestion.objects.filter(pk__in=list(vector_of)).order_by("pk").values_list("pk", flat=True)
    rows = [(question, space.model, space.dim, vector_of[question]) for question in left]
    rows_add(QuestionVector, ("question", "embedding_model", "embedding_dim", "vector"), rows)


def with_engine(work: Callable[[Engine], Awaitable[Result]]) -> Result:
    """Run asynchronous work from a round, which is synchronous.

    It uses the running loop's engine where there is one (a round started from the admin), else one made for it.
    """

    async def main() -> Result:
        own = not has_engine()
        try:
            return await work(get_engine())
        finally:
            if own:
                await close_engine()

    return async_to_sync(main)()


# ------------------------------------------------------------------------------------------------ deleted
def questions_of(*, user_id: int) -> list[int]:
    """The rated questions that this user has evidence on."""
    return list(Evidence.objects.filter(voter=user_id).order_by().values_list("question", flat=True).distinct())


def questions_forget(question_ids: Sequence[int]) -> int:
    """Delete those of the questions that no evidence is left of, with every boost made of them. Returns how many."""
    if not question_ids:
        return 0
    left = Evidence.objects.filter(question=OuterRef("pk"))
    unrated = RatedQuestion.objects.filter(~Exists(left), pk__in=question_ids)
    return unrated.delete()[1].get("feedback.RatedQuestion", 0)
