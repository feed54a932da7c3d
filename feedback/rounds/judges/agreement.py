"""What probes, golden questions and ratings say of the models that judge evidence.

A probe is a known case that the model was tried with (`probes`), and counts 1. Of answers, a decision path keeps what a
judge said ("judge" in a step's detail: model, and "yes" or "no" to whether the passages hold the answer). Whether they
do is known

- of a golden question, which staff have entered: whether a document or chunk that answers it was among the passages
  that the judge was shown. Each counts 1 for a model, however often it was asked and by whomever;
- of a rated answer, roughly: they do where it was liked, and do not where its sources or its reasoning were called
  wrong. It counts little, by the rater's own weight (`feedback.ranking.rater_reliability`), and all ratings of one
  person at most MOST_OF_RATER. Ratings in a burst that is not accepted, and discarded ones, count nothing.

Of answers, a column (held, absent) counts no more than BALANCE times the other: a judge that always says yes would look
good where it was only ever asked about what the documents hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from chat.models import DecisionStep
from feedback.models import Burst, Evidence, GoldenQuestion, JudgeAgreement, Rating
from feedback.models.ratings import thumb_of
from feedback.ranking import voters
from feedback.ranking.weighing import RaterWeights
from feedback.rounds.judges.probes import probed
from feedback.rounds.proposals import Ballot, ballot_weighed
from feedback.rounds.questions import signature
from retrieval.models import Chunk
from retrieval.text.analysis import query_terms

REMEMBERED = timedelta(days=180)  # judgements older than that say nothing of a model
MOST_STEPS = 20_000  # the newest, in a round
LIKED, CALLED_WRONG = 0.3, 0.15  # counts: that an answer is liked says more than why one is not
MOST_OF_RATER = 1.0  # counts for one model, beside a prior of 20
BALANCE, BALANCE_FREE = 2.0, 5.0  # a column counts at most BALANCE × (the other + BALANCE_FREE)
WRONG = {Rating.Tag.WRONG_SOURCE, Rating.Tag.WRONG_REASONING}
MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class Judgement:
    """One of a stored answer. chunks: that the judge was shown, as far as the path says."""

    model: str
    said: bool
    message: UUID
    question: str
    chunks: frozenset[str]


@dataclass(slots=True)
class Counts:
    """`held`, `absent`: [no, yes]."""

    held: list[float]
    absent: list[float]
    golden: int = 0
    ratings: int = 0
    probes: int = 0

    @classmethod
    def none(cls) -> Counts:
        return cls([0.0, 0.0], [0.0, 0.0])

    def add(self, *, said: bool, held: bool, count: float) -> None:
        (self.held if held else self.absent)[said] += count

    def balanced(self) -> Counts:
        return Counts(_at_most(self.held, self.absent), _at_most(self.absent, self.held), self.golden, self.ratings)


def judges_learn(ballot: Ballot) -> int:
    """Write the models' records anew. Returns of how many models there is one."""
    judgements = list(_judgements())
    counts: defaultdict[str, Counts] = defaultdict(Counts.none)
    if judgements:
        _count_golden(judgements, counts)
        _count_ratings(judgements, counts, ballot)
    counts = defaultdict(Counts.none, {model: one.balanced() for model, one in counts.items()})
    _count_probes(counts)
    rows = [
        JudgeAgreement(
            model=model, no_held=one.held[0], yes_held=one.held[1], no_absent=one.absent[0], yes_absent=one.absent[1],
            golden=one.golden, ratings=one.ratings, probes=one.probes,
        )
        for model, one in counts.items()
    ]  # fmt: skip
    with transaction.atomic():
        JudgeAgreement.objects.all().delete()
        JudgeAgreement.objects.bulk_create(rows)
    return len(rows)


def _at_most(column: list[float], other: list[float]) -> list[float]:
    most = BALANCE * (sum(other) + BALANCE_FREE)
    return [count * min(1.0, most / (sum(column) or 1.0)) for count in column]


def _count_probes(counts: Mapping[str, Counts]) -> None:
    for model, held, yes in probed():
        counts[model].probes += 1
        counts[model].add(said=yes, held=held, count=1.0)


# ------------------------------------------------------------------------------------------------ what was said
def _judgements() -> Iterator[Judgement]:
    """Those of the newest answers, the newest first."""
    steps = DecisionStep.objects.filter(detail__has_key="judge", message__created_at__gte=timezone.now() - REMEMBERED)
    columns = ("detail", "message_id", "message__reply_to__text")
    for detail, message, question in steps.order_by("-message__created_at", "-seq").values_list(*columns)[:MOST_STEPS]:
        judge = detail["judge"]
        if not isinstance(judge, Mapping) or judge.get("said") not in ("yes", "no") or not judge.get("model"):
            continue
        scores = detail.get("scores")
        chunks = frozenset(map(str, scores)) if isinstance(scores, Mapping) else frozenset[str]()
        yield Judgement(str(judge["model"])[:MOST_NAME], judge["said"] == "yes", message, question or "", chunks)


# ------------------------------------------------------------------------------------------------ golden questions
def _count_golden(judgements: Iterable[Judgement], counts: Mapping[str, Counts]) -> None:
    """Each golden question counts 1 for a model, shared among the judgements of it."""
    relevant = _golden()
    judged = [(one, _signature(one.question)) for one in judgements if one.question and one.chunks]
    judged = [(one, asked) for one, asked in judged if asked in relevant]
    document_of = _documents({chunk for one, _ in judged for chunk in one.chunks})
    shares: defaultdict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for one, asked in judged:
        shown = one.chunks | {document_of[chunk] for chunk in one.chunks if chunk in document_of}
        shares[one.model, asked].append((one.said, bool(shown & relevant[asked])))
    for (model, _), said in shares.items():
        counts[model].golden += 1
        for yes, held in said:
            counts[model].add(said=yes, held=held, count=1.0 / len(said))


def _golden() -> dict[str, frozenset[str]]:
    """By question, the ids of the documents and chunks that answer it."""
    answers: defaultdict[str, set[str]] = defaultdict(set)
    for question in GoldenQuestion.objects.filter(enabled=True).prefetch_related("relevant"):
        ids = (str(item.chunk_id or item.document_id) for item in question.relevant.all())
        answers[_signature(question.text)].update(ids)
    return {asked: frozenset(ids) for asked, ids in answers.items() if ids}


def _signature(question: str) -> str:
    return signature(question, query_terms(question))


def _documents(chunks: Iterable[str]) -> dict[str, str]:
    ids = []
    for chunk in chunks:
        try:
            ids.append(UUID(chunk))
        except ValueError:  # a page from the web
            continue
    documents: dict[str, str] = {}
    for start in range(0, len(ids), 1000):
        rows = Chunk.objects.filter(pk__in=ids[start : start + 1000]).values_list("pk", "document_id")
        documents.update((str(chunk), str(document)) for chunk, document in rows)
    return documents


# ------------------------------------------------------------------------------------------------ ratings
def _count_ratings(judgements: Iterable[Judgement], counts: Mapping[str, Counts], ballot: Ballot) -> None:
    """Of one person the newest rating of a question counts; what a person's ratings count is scaled to the most."""
    said: defaultdict[UUID, dict[str, Judgement]] = defaultdict(dict)
    for one in judgements:
        said[one.message].setdefault(one.model, one)  # the last judgement of an answer, on all that was found
    labels = _labels(said)
    if not labels:
        return
    weight_of = _rater_weights(ballot_weighed(ballot)[1], {user for user, *_ in labels})
    given: dict[tuple[int, str, str], tuple[bool, bool, float]] = {}
    for user, message, held, count in labels:
        if user not in weight_of:  # the account was deleted since
            continue
        for model, one in said[message].items():
            key = (user, model, _signature(one.question))
            given.setdefault(key, (one.said, held, count * weight_of[user]))
    totals: defaultdict[tuple[int, str], float] = defaultdict(float)
    for (user, model, _), (_, _, count) in given.items():
        totals[user, model] += count
    for (user, model, _), (yes, held, count) in given.items():
        if count > 0.0:
            counts[model].ratings += 1
            counts[model].add(said=yes, held=held, count=count * min(1.0, MOST_OF_RATER / totals[user, model]))


def _labels(messages: Iterable[UUID]) -> list[tuple[int, UUID, bool, float]]:
    """User, answer, whether the documents held it, and what that counts; the newest rating first."""
    # Without evidence of uses: NOT IN a list with NULL is never true.
    evidence_of_ratings = Evidence.objects.filter(rating__isnull=False)
    set_aside = evidence_of_ratings.filter(discarded_by__isnull=False).values("rating_id")
    statuses = (Burst.Status.OPEN, Burst.Status.REJECTED)
    in_burst = evidence_of_ratings.filter(burst__status__in=statuses).values("rating_id")
    ratings = Rating.objects.filter(source=None, message__decision="ANSWER").exclude(pk__in=set_aside)
    ratings = ratings.exclude(pk__in=in_burst).filter(updated_at__gte=timezone.now() - REMEMBERED)
    known, labels = set(messages), []
    rows = ratings.order_by("-updated_at").values_list("user_id", "message_id", "score", "tags")
    for user, message, score, tags in rows.iterator(chunk_size=2000):
        thumb = thumb_of(score)
        if message not in known or thumb is None:
            continue
        if thumb == "up":
            labels.append((user, message, True, LIKED))
        elif WRONG & set(_texts(tags)):
            labels.append((user, message, False, CALLED_WRONG))
    return labels


def _texts(tags: Any) -> list[str]:
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


def _rater_weights(weights: RaterWeights, users: set[int]) -> dict[int, float]:
    """A rater's own; of those without votes on passages the site's, less for a new account."""
    own = dict(zip(weights.rater.tolist(), weights.rater_weight.tolist(), strict=True))
    new_since = timezone.now() - timedelta(days=voters.NEW_ACCOUNT_DAYS)
    joined = get_user_model().objects.filter(pk__in=users).values_list("pk", "date_joined")
    return {
        user: own[user] if user in own else weights.site * (voters.NEW_ACCOUNT_WEIGHT if since > new_since else 1.0)
        for user, since in joined
    }
