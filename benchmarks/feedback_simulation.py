"""Do ratings make search better, can they be attacked, and what do they cost other questions?

    python -m benchmarks.feedback_simulation FOLDER [--sets squad2_en] [--scenes "2-4 raters"] [--seeds 0,1] [--json]

FOLDER holds labelled sets, as for `manage.py evaluate`; some 60 questions of each have been reworded by hand, in three
ways (`benchmarks/data/rewordings`). People (`benchmarks.feedback_people`) ask these in their own words and in two of
the rewordings; what is found, and which questions are the same, is told by the site's own search and embedding model
(OLLAMA_BASE_URL; without it the built-in one). In three rounds they see the ranking that is live by then; after each, a
revision is made of the votes and has to pass the guard, by the code of the feedback loop. On the last day a cohort may
lift a wrong passage for its targets. Then nDCG@10 is measured, without feedback (the baseline) and with it, on

- rated words: those that people used; rewordings: those that nobody used, of the same questions,
- contrast: questions that look like rated ones and ask something else: their first three documents are to stay,
- unseen: other questions of the set,
- targets: the questions of a hostile cohort.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from uuid import UUID

import django
import numpy as np
from django.conf import settings

from benchmarks.feedback_people import (
    PEOPLE,
    SHOWN,
    Draw,
    Person,
    hostile_credits,
    population,
    visit,
)
from benchmarks.tables import show
from feedback.ranking.attribution import Credit
from feedback.ranking.boosts import document_boosts, query_boosts
from feedback.ranking.guard import Compared, judge
from feedback.ranking.snapshot import Content, Snapshot
from feedback.ranking.votes import (
    Vote,
    dedupe_votes,
    document_sums,
    find_bursts,
    passage_sums,
    voters_of,
)
from retrieval.engine.ports import SearchRequest
from retrieval.engine.search.boosting import Hit, rank_with_boosts
from retrieval.engine.text.same_question import Wording, wording
from retrieval.engine.values import Query
from retrieval.evaluation.dataset import Dataset, load_dataset
from retrieval.evaluation.metrics import ndcg

REWORDINGS = Path(__file__).parent / "data" / "rewordings"
MANNERS = ("terse", "colloquial", "formal")
TOP = 10
UNSEEN = 150
ROUNDS = 3
DAYS = 90
FIRST_DAY = 20_000  # since 1970-01-01
USERS = 200
VISITS = 6  # at most, for each rating that a question is to get
RECENT = 60  # questions that the guard of a site samples
TARGETS = 18  # half of them nobody else rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """raters: of each question, from, to. cohort: how many hostile accounts. joined: the day on which they did."""

    name: str
    raters: tuple[int, int] = (2, 4)
    tempers: Mapping[str, float] = field(default_factory=lambda: PEOPLE)
    cohort: int = 0
    joined: int = -100


SCENES = (
    Scene(name="2-4 raters"),
    Scene(name="8-16 raters", raters=(8, 16)),
    Scene(name="all at random", tempers={"random": 1.0}),
    Scene(name="20 new accounts", cohort=20, joined=DAYS - 4),
    Scene(name="10 old accounts", cohort=10),
    Scene(name="4 old accounts", cohort=4),
)


# ------------------------------------------------------------------------------------------------ the set
@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question in some wording. hits: what the site finds without feedback, best first. relevant: the documents that
    answer, with their grades."""

    text: str
    wording: Wording
    hits: Sequence[Hit]
    relevant: Mapping[str, int]

    @property
    def right(self) -> set[str]:
        """The found passages that answer."""
        return {hit.chunk_id for hit in self.hits if hit.document_id in self.relevant}

    def ranked(self, live: Snapshot | None) -> list[Hit]:
        if live is None:
            return list(self.hits)
        return rank_with_boosts(self.hits, live.boosts(self.wording, self.hits, now=0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rated:
    """used: the wordings that people ask. kept: one that is only measured. contrast: another question."""

    used: Sequence[Asked]
    kept: Asked
    contrast: Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    rated: Sequence[Rated]
    unseen: Sequence[Asked]


async def searched(
    dataset: Dataset, texts: Sequence[str]
) -> tuple[dict[str, Asked], dict[str, str]]:
    """What the site finds for each text, nothing of it relevant yet; and the index's ids of the set's documents."""
    from retrieval.evaluation.collection import index_of_its_own
    from retrieval.evaluation.runner import loaded

    found = {}
    with index_of_its_own(settings.RAG) as uri:
        async with loaded(dataset, settings=settings.RAG, uri=uri) as (deps, collection):
            vectors = await (await deps.models.default_embedder()).embed_queries(texts)
            for text, vector in zip(texts, vectors, strict=True):
                request = SearchRequest(queries=(Query(text),), scope=collection.scope, top_k=TOP)
                result = await deps.searcher.search(request)
                hits = (*result.candidates, *result.tail_hits)
                own = wording(text, vector)
                found[text] = Asked(text=text, wording=own, hits=hits, relevant={})
    return found, {own: document for document, own in collection.document_of.items()}


def worlds_of(folder: Path, seeds: Sequence[int]) -> dict[int, World]:
    """By seed: each keeps another of the three manners, which nobody uses."""
    dataset = load_dataset(folder)
    queries = {query.id: query.text for query in dataset.ranked}
    lines = (REWORDINGS / f"{folder.name}.jsonl").read_text(encoding="utf-8").splitlines()
    written = {row["id"]: row for row in map(json.loads, lines)}
    others = [query for query in queries if query not in written][:UNSEEN]
    texts = [queries[query] for query in others]
    for query, row in written.items():
        texts += [queries[query], *(row[name] for name in (*MANNERS, "contrast"))]
    found, ids = asyncio.run(searched(dataset, list(dict.fromkeys(texts))))

    def ask(text: str, query: str) -> Asked:
        relevant = {ids[own]: grade for own, grade in dataset.qrels[query].items()}
        return replace(found[text], relevant=relevant)

    unseen = [ask(queries[query], query) for query in others]
    worlds = {}
    for seed in seeds:
        rated = []
        for query, row in written.items():
            used = [ask(row[name], query) for name in MANNERS]
            kept = used.pop(seed % len(MANNERS))
            used.append(ask(queries[query], query))
            rated.append(Rated(used=used, kept=kept, contrast=_as_it_is(found[row["contrast"]])))
        worlds[seed] = World(rated=rated, unseen=unseen)
    return worlds


def _as_it_is(asked: Asked) -> Asked:
    """Its first three documents are what is to be found."""
    documents = list(dict.fromkeys(hit.document_id for hit in asked.hits))[:3]
    return replace(asked, relevant={document: 3 - at for at, document in enumerate(documents)})


# ------------------------------------------------------------------------------------------------ a site's life
class Life:
    """Its votes, and what is live. held: reasons of the rounds that did not pass."""

    def __init__(self, world: World, scene: Scene, draw: Draw) -> None:
        self.world = world
        self.scene = scene
        self.live: Snapshot | None = None
        self.held: list[str] = []
        self.votes: list[Vote] = []
        self.targets: list[Rated] = []
        self._draw = draw
        self._live_since = 0
        self._recent: list[Asked] = []
        self._questions: dict[str, int] = {}
        self._wordings: dict[int, Wording] = {}
        self._passages: dict[str, int] = {}
        self._people = population(USERS, DAYS, draw, scene.tempers)
        numbers = range(USERS, USERS + scene.cohort)
        self._cohort = [Person(number=at, temper="", joined=scene.joined) for at in numbers]
        if scene.cohort:
            order = draw.permutation(len(world.rated))
            self.targets = [world.rated[at] for at in order[:TARGETS]]

    def go_by(self) -> None:
        silent = self.targets[: TARGETS // 2]
        rated = [one for one in self.world.rated if one not in silent]
        low, high = self.scene.raters
        wanted = [int(self._draw.integers(low, high + 1)) for _ in rated]
        for number in range(ROUNDS):
            days = (DAYS * number // ROUNDS, DAYS * (number + 1) // ROUNDS)
            for one, count in zip(rated, wanted, strict=True):
                due = count * (number + 1) // ROUNDS - count * number // ROUNDS
                self._people_rate(one, due, days)
            if number == ROUNDS - 1:
                self._cohort_attacks(day=DAYS - 1)
            self._round(today=days[1])

    def _people_rate(self, rated: Rated, due: int, days: tuple[int, int]) -> None:
        """Visits until `due` people have rated something, or nobody cares to."""
        for _ in range(due * VISITS):
            person = self._people[int(self._draw.integers(len(self._people)))]
            day = int(self._draw.integers(*days))
            if due <= 0:
                return
            if person.joined > day:
                continue
            asked = rated.used[int(self._draw.integers(len(rated.used)))]
            shown = asked.ranked(self.live)[:SHOWN]
            credits = visit(person, _chunks(shown), asked.right, self._draw)
            self._recent.append(asked)
            self._add(person, asked, shown, credits, day)
            due -= bool(credits)

    def _cohort_attacks(self, *, day: int) -> None:
        """For each target all of them lift the last shown passage that does not answer."""
        for target in self.targets:
            asked = target.used[-1]
            shown = asked.ranked(self.live)[:SHOWN]
            wrong = [chunk for chunk in _chunks(shown) if chunk not in asked.right]
            if wrong:
                credits = hostile_credits(_chunks(shown), wrong[-1], asked.right)
                for person in self._cohort:
                    self._add(person, asked, shown, credits, day)

    def _add(
        self,
        person: Person,
        asked: Asked,
        shown: Sequence[Hit],
        credits: Sequence[Credit],
        day: int,
    ) -> None:
        for credit in credits:
            hit = shown[credit.marker - 1]
            question = self._questions.setdefault(asked.text, len(self._questions))
            self._wordings[question] = asked.wording
            vote = Vote(
                question=question,
                passage=self._passages.setdefault(hit.chunk_id, len(self._passages)),
                document=UUID(hit.document_id),
                voter=person.number,
                weight=credit.weight,
                document_weight=credit.document_weight,
                day=FIRST_DAY + day,
            )
            self.votes.append(vote)

    def _round(self, *, today: int) -> None:
        """As `feedback.rounds.round` makes a revision; no chat model compares questions, nobody is of the staff."""
        joined = {one.number: one.joined + FIRST_DAY for one in (*self._people, *self._cohort)}
        now = FIRST_DAY + today
        voters = voters_of(joined, frozenset(), today=now)
        votes = dedupe_votes(sorted(self.votes, key=lambda vote: vote.day))
        content = Content(
            queries=query_boosts(passage_sums(votes, voters, today=now)),
            documents=document_boosts(document_sums(votes, voters, today=now)),
            chunk_of={number: chunk for chunk, number in self._passages.items()},
            wordings=self._wordings.copy(),
        )
        proposed = Snapshot(content)
        reason = judge([self._compared(asked, proposed) for asked in self._recent[-RECENT:]]).reason
        if find_bursts(votes, since=FIRST_DAY + self._live_since):
            reason = reason or "a burst, which a person looks at first"
        if reason:
            self.held.append(str(reason))
            return
        self.live = proposed
        self._live_since = today

    def _compared(self, asked: Asked, proposed: Snapshot) -> Compared:
        before = _chunks(asked.ranked(self.live)[:TOP])
        after = _chunks(asked.ranked(proposed)[:TOP])
        return Compared(question=asked.text, before=before, after=after)


def _chunks(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]


# ------------------------------------------------------------------------------------------------ what came of it
def groups_of(life: Life) -> dict[str, list[Asked]]:
    rated = life.world.rated
    return {
        "rated words": [asked for one in rated for asked in one.used],
        "rewordings": [one.kept for one in rated],
        "contrast": [one.contrast for one in rated],
        "unseen": list(life.world.unseen),
        "targets": [asked for one in life.targets for asked in (*one.used, one.kept)],
    }


def ndcg_of(asked: Sequence[Asked], live: Snapshot | None) -> float:
    """Times 100, of documents; each stands where its best passage stands."""
    wanted = {str(at): one.relevant for at, one in enumerate(asked)}
    rankings = {}
    for at, one in enumerate(asked):
        documents = dict.fromkeys(hit.document_id for hit in one.ranked(live))
        rankings[str(at)] = list(documents)[:TOP]
    return 100 * fmean(ndcg(wanted, rankings, k=TOP).values())


def rows_of(name: str, worlds: Mapping[int, World], scene: Scene) -> Iterator[dict[str, object]]:
    """Means over the seeds: each draws its own questions, people and mistakes."""
    lives = []
    for seed, world in worlds.items():
        life = Life(world, scene, np.random.default_rng(seed))
        life.go_by()
        lives.append(life)
    for group in groups_of(lives[0]):
        asked = [groups_of(life)[group] for life in lives]
        if asked[0]:
            before = fmean(ndcg_of(own, None) for own in asked)
            after = fmean(ndcg_of(own, life.live) for own, life in zip(asked, lives, strict=True))
            yield {
                "set": name,
                "scene": scene.name,
                "questions": group,
                "n": sum(map(len, asked)),
                "without": before,
                "with": after,
                "gain": after - before,
                "votes": fmean(len(life.votes) for life in lives),
                "held": fmean(len(life.held) for life in lives),
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", type=_names, default=["squad2_en"], metavar="a,b")
    parser.add_argument("--scenes", type=_names, default=[], metavar="a,b", help="all by default")
    parser.add_argument("--seeds", type=_names, default=["0", "1"], metavar="0,1")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    django.setup()
    rows: list[dict[str, object]] = []
    for name in options.sets:
        worlds = worlds_of(options.folder / name, [int(seed) for seed in options.seeds])
        for scene in SCENES:
            if not options.scenes or scene.name in options.scenes:
                print(f"{name}: {scene.name}", file=sys.stderr)
                rows += rows_of(name, worlds, scene)
    notes = ["nDCG@10 × 100, means over the seeds; held: rounds that did not pass the guard."]
    show(rows, as_json=options.json, notes=notes)


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


if __name__ == "__main__":
    main()
