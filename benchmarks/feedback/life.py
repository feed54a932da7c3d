"""A site's life in a simulation: people ask and rate what they see, rounds make revisions, the guard lets them live.

The way from votes to a revision is the site's own: `dedupe_votes`, sums, boosts, `Snapshot`, `judge`.
It is told what a site knows: votes, days, accounts. Nobody tells it who is honest or what answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.feedback.attacks import (
    COHORTS,
    TARGETS,
    hostile_accounts,
    hostile_credits,
    lifted_passage,
)
from benchmarks.feedback.corpus import Asked, Corpus, document_id
from benchmarks.feedback.rankers import Ranker, ours, plain, remembered
from benchmarks.feedback.users import PEOPLE, SHOWN, Draw, Person, population, visit
from benchmarks.feedback.world import RatedQuestion, World
from feedback.ranking.attribution import Credit
from feedback.ranking.boosts import document_boosts, query_boosts
from feedback.ranking.guard import Compared, GuardReport, judge
from feedback.ranking.snapshot import Content, Snapshot
from feedback.ranking.votes import (
    Vote,
    dedupe_votes,
    document_sums,
    find_bursts,
    passage_sums,
    voters_of,
)
from retrieval.engine.text.same_question import wording

DAYS = 90
USERS = 200
FIRST_DAY = 20_000  # since 1970-01-01
RECENT_QUESTIONS = 60  # as many as the guard of a site samples
VISITS = 6  # at most, for each rating that a question is to get
ATTACK_DAYS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """tempers: shares of the people. noise: share of the verdicts that are turned round besides. up_share: of those who
    rate at random; None: of each his own. cohort: a name in COHORTS. unrated_targets: so many of an attack's targets
    are rated by nobody else."""

    name: str
    raters: tuple[int, int] = (2, 4)
    tempers: Mapping[str, float] = field(default_factory=lambda: PEOPLE)
    noise: float = 0.0
    up_share: float | None = None
    answers_only: bool = False
    cohort: str = ""
    unrated_targets: int = TARGETS // 2
    golden: bool = False


@dataclass(slots=True)
class Ledger:
    """All votes so far, and the questions that they belong to, as the feedback loop keeps them."""

    questions: list[Asked] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # the same words are one rated question
    votes: list[Vote] = field(default_factory=list)

    def number(self, asked: Asked) -> int:
        if asked.text not in self.numbers:
            self.numbers[asked.text] = len(self.questions)
            self.questions.append(asked)
        return self.numbers[asked.text]

    def add(
        self,
        corpus: Corpus,
        person: Person,
        asked: Asked,
        shown: Sequence[int],
        credits: Sequence[Credit],
        day: int,
    ) -> None:
        for credit in credits:
            slot = shown[credit.marker - 1]
            self.votes.append(
                Vote(
                    self.number(asked),
                    corpus.passage(slot),
                    document_id(corpus.documents[slot]),
                    person.number,
                    credit.weight,
                    credit.document_weight,
                    FIRST_DAY + day,
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What became of it. held: reasons of the rounds that the guard did not let live. targets: places in the world's
    rated questions.
    live: the snapshot that is live at the end, None where none ever was."""

    live: Snapshot | None
    votes: list[Vote]
    questions: list[Asked]
    held: list[str]
    targets: list[int]


def live_through(world: World, scene: Scene, *, rounds: int, seed: int) -> Life:
    """Rounds are evenly spread over DAYS; halfway through, documents change; a cohort comes before the last round."""
    draw = np.random.default_rng(seed)
    corpus = world.corpus
    corpus.changed = False
    people = population(
        USERS, DAYS, draw, tempers=scene.tempers, noise=scene.noise, up_share=scene.up_share
    )
    ledger = Ledger()
    held = list[str]()
    live = None
    live_since = 0
    targets = _targets(world, draw) if scene.cohort else []
    silent = set(targets[: scene.unrated_targets])
    hostile: list[Person] = []
    if scene.cohort:
        begins = DAYS - ATTACK_DAYS - 1
        hostile = hostile_accounts(COHORTS[scene.cohort], begins=begins, draw=draw)
    wanted = {
        at: int(draw.integers(scene.raters[0], scene.raters[1] + 1))
        for at in range(len(world.rated))
    }
    recent: list[Asked] = []
    for number in range(rounds):
        first = DAYS * number // rounds
        last = DAYS * (number + 1) // rounds
        corpus.changed = 2 * last > DAYS
        rank = remembered(plain(corpus) if live is None else ours(corpus, live))
        for at, question in enumerate(world.rated):
            if at in silent:
                continue
            due = wanted[at] * (number + 1) // rounds - wanted[at] * number // rounds
            recent += _asked_by_people(
                question, due, people, (first, last), corpus, rank, scene, ledger, draw
            )
        if hostile and number < rounds - 1 and COHORTS[scene.cohort].honest:
            _infiltrate(
                world,
                hostile,
                COHORTS[scene.cohort].honest // (rounds - 1),
                set(targets),
                (first, last),
                rank,
                ledger,
                draw,
            )
        if hostile and number == rounds - 1:
            _attack(world, hostile, targets, rank, ledger, draw)
        made = draft(
            ledger,
            corpus,
            [*people, *hostile],
            today=FIRST_DAY + last,
            since=FIRST_DAY + live_since,
        )
        report = guarded(world, recent, live, made.snapshot, golden=scene.golden)
        if not report.reason and not made.burst:
            live = made.snapshot
            live_since = last
        else:
            held.append(report.reason or "a burst")
    return Life(
        live=live, votes=ledger.votes, questions=ledger.questions, held=held, targets=targets
    )


# ------------------------------------------------------------------------------------------------ people
def _asked_by_people(
    question: RatedQuestion,
    due: int,
    people: Sequence[Person],
    days: tuple[int, int],
    corpus: Corpus,
    rank: Ranker,
    scene: Scene,
    ledger: Ledger,
    draw: Draw,
) -> list[Asked]:
    """Visits until `due` people have rated something, or nobody cares to. Returns what was asked."""
    asked_now: list[Asked] = []
    for _ in range(due * VISITS):
        if due <= 0:
            break
        person = people[int(draw.integers(len(people)))]
        day = int(draw.integers(*days))
        if person.joined > day:
            continue
        asked = question.asked[int(draw.integers(len(question.asked)))]
        shown = rank(asked)[:SHOWN]
        lures = _now(corpus, question.lures)
        left = visit(
            person, shown, corpus.relevant(asked), lures, draw, answers_only=scene.answers_only
        )
        asked_now.append(asked)
        if left.rated:
            due -= 1
            ledger.add(corpus, person, asked, shown, left.credits, day)
    return asked_now


def _now(corpus: Corpus, passages: frozenset[int]) -> frozenset[int]:
    return frozenset(int(slot) for slot in corpus.chunk_of(sorted(passages)).values())


def _targets(world: World, draw: Draw) -> list[int]:
    measured = [at for at, one in enumerate(world.rated) if one.kept]
    return [measured[at] for at in draw.permutation(len(measured))[:TARGETS]]


def _infiltrate(
    world: World,
    hostile: Sequence[Person],
    each: int,
    targets: set[int],
    days: tuple[int, int],
    rank: Ranker,
    ledger: Ledger,
    draw: Draw,
) -> None:
    """Right verdicts on questions that are no targets."""
    others = [one for at, one in enumerate(world.rated) if at not in targets]
    for person in hostile:
        for at in draw.permutation(len(others))[:each]:
            asked = others[at].asked[0]
            shown = rank(asked)[:SHOWN]
            left = visit(person, shown, world.corpus.relevant(asked), frozenset(), draw)
            ledger.add(world.corpus, person, asked, shown, left.credits, int(draw.integers(*days)))


def _attack(
    world: World,
    hostile: Sequence[Person],
    targets: Sequence[int],
    rank: Ranker,
    ledger: Ledger,
    draw: Draw,
) -> None:
    corpus = world.corpus
    for at in targets:
        asked = world.rated[at].asked[0]
        shown = rank(asked)[:SHOWN]
        relevant = corpus.relevant(asked)
        credits = hostile_credits(shown, lifted_passage(shown, relevant), relevant)
        for person in hostile:
            day = DAYS - 1 - int(draw.integers(ATTACK_DAYS))
            ledger.add(corpus, person, asked, shown, credits, day)


# ------------------------------------------------------------------------------------------------ the round
@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A revision before its guard. burst: many voted on one document on one day, so a person looks first."""

    snapshot: Snapshot
    burst: bool


def draft(
    ledger: Ledger, corpus: Corpus, people: Sequence[Person], *, today: int, since: int
) -> Draft:
    """As `feedback.rounds.round` makes a revision; no chat model compares questions. since: the day of what is live."""
    voters = voters_of(
        {one.number: one.joined + FIRST_DAY for one in people}, frozenset(), today=today
    )
    votes = dedupe_votes(sorted(ledger.votes, key=lambda vote: vote.day))
    queries = query_boosts(passage_sums(votes, voters, today=today))
    content = Content(
        queries=queries,
        documents=document_boosts(document_sums(votes, voters, today=today)),
        chunk_of=corpus.chunk_of({boost.passage for boost in queries}),
        wordings={
            question: wording(one.text, one.vector) for question, one in enumerate(ledger.questions)
        },
    )
    return Draft(snapshot=Snapshot(content), burst=bool(find_bursts(votes, since=since)))


# ------------------------------------------------------------------------------------------------ the guard
def guarded(
    world: World,
    recent: Sequence[Asked],
    live: Snapshot | None,
    proposed: Snapshot,
    *,
    golden: bool,
) -> GuardReport:
    """As `feedback.rounds.guard` measures: recent questions and, where there are any, golden ones; a default install
    has none."""
    corpus = world.corpus
    before = remembered(plain(corpus) if live is None else ours(corpus, live))
    after = ours(corpus, proposed)
    compared = [_compared(corpus, one, before, after, known=True) for one in world.golden if golden]
    compared += [_compared(corpus, one, before, after) for one in recent[-RECENT_QUESTIONS:]]
    return judge(compared)


def _compared(
    corpus: Corpus, asked: Asked, before: Ranker, after: Ranker, *, known: bool = False
) -> Compared:
    return Compared(
        question=asked.text,
        before=[str(slot) for slot in before(asked)],
        after=[str(slot) for slot in after(asked)],
        relevant={str(slot): 1 for slot in corpus.relevant(asked)} if known else {},
    )
