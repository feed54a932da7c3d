"""A site's life in a simulation: people ask and rate what they see, rounds make revisions, the guard lets them live.

The way from votes to a revision is the site's own: bursts, `votes_weighed`, `content_of_votes`, `Snapshot`, `judge`.
It is told what a site knows: votes, days, accounts. Nobody tells it who is honest or what answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.feedback.attacks import COHORTS, TARGETS, hostile_accounts, hostile_credits, lifted_passage
from benchmarks.feedback.corpus import Asked, Corpus, document_id, terms_of
from benchmarks.feedback.rankers import Ranker, normalized_scores, ours, plain, remembered
from benchmarks.feedback.users import PEOPLE, SHOWN, Draw, Person, population, visit
from benchmarks.feedback.world import RatedQuestion, World
from feedback.ranking import boosts as formulas
from feedback.ranking import guard as limits
from feedback.ranking.attribution import Credit
from feedback.ranking.boosts import Votes
from feedback.ranking.contrast import contrasts_of
from feedback.ranking.drafting import content_of_votes, votes_weighed
from feedback.ranking.guard import Compared, GuardReport, judge
from feedback.ranking.question_groups import QuestionGroups, decide_among
from feedback.ranking.same_question import background_of, shipped_model
from feedback.ranking.snapshot import Content, RatedQuestions, Snapshot, parameters
from feedback.ranking.voters import Voters, young_votes

DAYS = 90
USERS = 200
FIRST_DAY = 20_000  # since 1970-01-01
RECENT_QUESTIONS, CONTRAST_QUESTIONS = 60, 60  # as many as the guard of a site samples
VISITS = 6  # at most, for each rating that a question is to get
ATTACK_DAYS = 2
Ints = NDArray[np.int64]


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
    rows: list[tuple[int, int, int, int, float, float, int, float]] = field(default_factory=list)

    def number(self, asked: Asked) -> int:
        if asked.text not in self.numbers:
            self.numbers[asked.text] = len(self.questions)
            self.questions.append(asked)
        return self.numbers[asked.text]

    def add(self, corpus: Corpus, person: Person, asked: Asked, shown: Sequence[int], credits: Sequence[Credit],
            day: int) -> None:  # fmt: skip
        scores = normalized_scores(corpus, asked)
        for credit in credits:
            slot = shown[credit.marker - 1]
            row = (
                self.number(asked), corpus.passage(slot), corpus.documents[slot], person.number, credit.weight,
                credit.document_weight, FIRST_DAY + day, scores.get(slot, float("nan")),
            )  # fmt: skip
            self.rows.append(row)

    def votes(self) -> Votes:
        table = np.asarray(self.rows, dtype=np.float64).reshape(-1, 8)
        whole = table[:, :7].astype(np.int64)
        return Votes(
            key=np.arange(len(table)), question=whole[:, 0], passage=whole[:, 1], document=whole[:, 2],
            voter=whole[:, 3], value=table[:, 4], document_value=table[:, 5], day=whole[:, 6],
            normalized_score=table[:, 7],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What became of it. held: reasons of the rounds that the guard did not let live. targets: places in the world's
    rated questions. silenced: share of the hostile votes that wait as a burst or weigh nothing in the last round.
    live: the snapshot that is live at the end, None where none ever was."""

    live: Snapshot | None
    votes: Votes
    questions: list[Asked]
    held: list[str]
    targets: list[int]
    silenced: float | None


def live_through(world: World, scene: Scene, *, rounds: int, seed: int) -> Life:
    """Rounds are evenly spread over DAYS; halfway through, documents change; a cohort comes before the last round."""
    draw = np.random.default_rng(seed)
    corpus = world.corpus
    corpus.changed = False
    people = population(USERS, DAYS, draw, tempers=scene.tempers, noise=scene.noise, up_share=scene.up_share)
    ledger, held, live = Ledger(), list[str](), None
    targets = _targets(world, draw) if scene.cohort else []
    silent = set(targets[: scene.unrated_targets])
    hostile: list[Person] = []
    if scene.cohort:
        begins = DAYS - ATTACK_DAYS - 1
        hostile = hostile_accounts(COHORTS[scene.cohort], begins=begins, draw=draw)
    wanted = {at: int(draw.integers(scene.raters[0], scene.raters[1] + 1)) for at in range(len(world.rated))}
    recent: list[Asked] = []
    silenced: float | None = None
    for number in range(rounds):
        first, last = DAYS * number // rounds, DAYS * (number + 1) // rounds
        corpus.changed = 2 * last > DAYS
        rank = remembered(plain(corpus) if live is None else ours(corpus, live))
        for at, question in enumerate(world.rated):
            if at in silent:
                continue
            due = wanted[at] * (number + 1) // rounds - wanted[at] * number // rounds
            recent += _asked_by_people(question, due, people, (first, last), corpus, rank, scene, ledger, draw)
        if hostile and number < rounds - 1 and COHORTS[scene.cohort].honest:
            _infiltrate(world, hostile, COHORTS[scene.cohort].honest // (rounds - 1), set(targets), (first, last), rank,
                        ledger, draw)  # fmt: skip
        if hostile and number == rounds - 1:
            _attack(world, hostile, targets, rank, ledger, draw)
        made = draft(ledger, corpus, [*people, *hostile], today=FIRST_DAY + last)
        silenced = _silenced(ledger.votes(), made.weighs, hostile)
        report = guarded(world, recent, ledger.questions, live, made, golden=scene.golden, seed=seed)
        if report.passed:
            live = made.snapshot
        else:
            held.append(report.reason)
    return Life(
        live=live, votes=ledger.votes(), questions=ledger.questions, held=held, targets=targets,
        silenced=silenced if hostile else None,
    )  # fmt: skip


def _silenced(votes: Votes, weighs: NDArray[np.float64], hostile: Sequence[Person]) -> float:
    own = np.isin(votes.voter, [one.number for one in hostile])
    return 1.0 - float(weighs[own].sum()) / max(1e-9, float(np.abs(votes.value[own]).sum()))


# ------------------------------------------------------------------------------------------------ people
def _asked_by_people(
    question: RatedQuestion, due: int, people: Sequence[Person], days: tuple[int, int], corpus: Corpus, rank: Ranker,
    scene: Scene, ledger: Ledger, draw: Draw,
) -> list[Asked]:  # fmt: skip
    """Visits until `due` people have rated something, or nobody cares to. Returns what was asked."""
    asked_now: list[Asked] = []
    for _ in range(due * VISITS):
        if due <= 0:
            break
        person, day = people[int(draw.integers(len(people)))], int(draw.integers(*days))
        if person.joined > day:
            continue
        asked = question.asked[int(draw.integers(len(question.asked)))]
        shown = rank(asked)[:SHOWN]
        lures = _now(corpus, question.lures)
        left = visit(person, shown, corpus.relevant(asked), lures, draw, answers_only=scene.answers_only)
        asked_now.append(asked)
        if left.rated:
            due -= 1
            ledger.add(corpus, person, asked, shown, left.credits, day)
    return asked_now


def _now(corpus: Corpus, passages: frozenset[int]) -> frozenset[int]:
    return frozenset(int(slot) for slot in corpus.chunk_of(np.asarray(sorted(passages), dtype=np.int64)).values())


def _targets(world: World, draw: Draw) -> list[int]:
    measured = [at for at, one in enumerate(world.rated) if one.kept]
    return [measured[at] for at in draw.permutation(len(measured))[:TARGETS]]


def _infiltrate(world: World, hostile: Sequence[Person], each: int, targets: set[int], days: tuple[int, int],
                rank: Ranker, ledger: Ledger, draw: Draw) -> None:  # fmt: skip
    """Right verdicts on questions that are no targets."""
    others = [one for at, one in enumerate(world.rated) if at not in targets]
    for person in hostile:
        for at in draw.permutation(len(others))[:each]:
            asked = others[at].asked[0]
            shown = rank(asked)[:SHOWN]
            left = visit(person, shown, world.corpus.relevant(asked), frozenset(), draw)
            ledger.add(world.corpus, person, asked, shown, left.credits, int(draw.integers(*days)))


def _attack(world: World, hostile: Sequence[Person], targets: Sequence[int], rank: Ranker, ledger: Ledger,
            draw: Draw) -> None:  # fmt: skip
    corpus = world.corpus
    for at in targets:
        asked = world.rated[at].asked[0]
        shown, relevant = rank(asked)[:SHOWN], corpus.relevant(asked)
        credits = hostile_credits(shown, lifted_passage(shown, relevant), relevant)
        for person in hostile:
            day = DAYS - 1 - int(draw.integers(ATTACK_DAYS))
            ledger.add(corpus, person, asked, shown, credits, day)


# ------------------------------------------------------------------------------------------------ the round
@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A revision before its guard. weighs: of each vote what it weighs; 0 for those that wait as a burst."""

    snapshot: Snapshot
    priors: Snapshot
    weighs: NDArray[np.float64]


def draft(ledger: Ledger, corpus: Corpus, people: Sequence[Person], *, today: int) -> Draft:
    """As `feedback.rounds.proposals` makes a revision; bursts wait for a person, so they are left out."""
    votes, questions = ledger.votes(), ledger.questions
    voters = voters_of(people)
    open_bursts = formulas.find_bursts(votes, least_votes=formulas.BURST_VOTES, accounts=formulas.BURST_ACCOUNTS)
    open_bursts += formulas.find_newcomers(
        votes, young_votes(votes, voters), least_accounts=formulas.NEWCOMERS, days=formulas.NEWCOMERS_DAYS
    )
    waits = np.zeros(len(votes), dtype=np.bool_)
    for burst in open_bursts:
        waits[burst.rows] = True
    rated = RatedQuestions(
        ids=np.arange(len(questions)),
        texts=[one.text for one in questions],
        terms=[terms_of(one.text) for one in questions],
        vectors={corpus.space: np.stack([one.vector for one in questions])},
    )
    stored = rated.vectors[corpus.space]
    pairs = decide_among(
        rated.ids, rated.texts, rated.terms, stored, background=background_of(stored), model=shipped_model()
    )

    def grouping(_: Ints) -> QuestionGroups:
        return QuestionGroups.of(pairs)

    counted, weights = votes_weighed(votes.where(~waits), grouping, voters)
    content = content_of_votes(
        counted, weights, today=today, document_id=document_id, parameters=parameters(),
    )  # fmt: skip
    content = replace(content, pairs=pairs.among(np.unique(content.queries.question)))
    weighs = np.zeros(len(votes))
    weighed = weights.apply(counted)
    weighs[weighed.key] = np.abs(weighed.value)
    chunk_of = corpus.chunk_of(np.unique(content.queries.passage))
    nothing = Content.empty(content.parameters)
    return Draft(
        snapshot=Snapshot(content, rated, chunk_of),
        priors=Snapshot(replace(nothing, documents=content.documents), rated, {}),
        weighs=weighs,
    )


def voters_of(people: Sequence[Person]) -> Voters:
    """What the site knows of accounts."""
    known = sorted(people, key=lambda one: one.number)
    return Voters.of(
        np.asarray([one.number for one in known], dtype=np.int64),
        joined=np.asarray([one.joined + FIRST_DAY for one in known], dtype=np.int64),
        block=np.asarray([one.block for one in known], dtype=np.int64),
        confirmed=np.asarray([one.confirmed for one in known], dtype=np.int64),
    )


# ------------------------------------------------------------------------------------------------ the guard
def guarded(
    world: World, recent: Sequence[Asked], questions: Sequence[Asked], live: Snapshot | None, proposed: Draft, *,
    golden: bool, seed: int,
) -> GuardReport:  # fmt: skip
    """As `feedback.rounds.guard` measures: recent and rated questions, contrast questions that it makes itself, and,
    where there are any, golden ones; a default install has none."""
    corpus, draw = world.corpus, np.random.default_rng(seed)
    before = remembered(plain(corpus) if live is None else ours(corpus, live))
    rankings = (before, remembered(ours(corpus, proposed.snapshot)))
    rated = [questions[at] for at in draw.permutation(len(questions))[:RECENT_QUESTIONS]]
    made = contrasts_of(
        {at: one.text for at, one in enumerate(rated)},
        {at: terms_of(one.text) for at, one in enumerate((*rated, *questions))},
        limit=CONTRAST_QUESTIONS,
    )
    asked_made = corpus.asked([one.text for one in made])
    priors = ours(corpus, proposed.priors)
    sample = [*rated[: RECENT_QUESTIONS // 2], *recent[-RECENT_QUESTIONS // 2 :]]
    return judge(
        [_compared(corpus, one, *rankings, without=plain(corpus), known=True) for one in world.golden if golden],
        [_compared(corpus, one, *rankings) for one in sample],
        [
            replace(_compared(corpus, one, *rankings, without=priors), contrast_of=row.source, change=row.change)
            for row, one in zip(made, asked_made, strict=True)
        ],
        margin=limits.GOLDEN_MARGIN,
        max_churn=limits.MAX_CHURN,
    )


def _compared(
    corpus: Corpus, asked: Asked, before: Ranker, after: Ranker, *, without: Ranker | None = None, known: bool = False
) -> Compared:
    return Compared(
        question=asked.text,
        before=[str(slot) for slot in before(asked)],
        after=[str(slot) for slot in after(asked)],
        without=None if without is None else [str(slot) for slot in without(asked)],
        relevant={str(slot): 1 for slot in corpus.relevant(asked)} if known else {},
    )
