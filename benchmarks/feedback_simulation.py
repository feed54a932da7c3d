"""Do ratings make retrieval better, and nothing worse? Simulated users on labelled sets, against two known formulas.

    python -m benchmarks.feedback_simulation FOLDER --embeddings EMBEDDINGS [--sets a,b] [--rounds 3] [--json]

FOLDER holds one folder per set, as for `manage.py evaluate`; EMBEDDINGS holds {set}.corpus.npy and {set}.queries.npy
(float32, unit length, file order), made with the embedding model of the Ollama server at OLLAMA_BASE_URL, which embeds
the paraphrases.

The questions of half of the documents are rated: each is asked by two to four users (`--asks`) in different words,
in `--rounds` rounds; users see the ranking that the round before gave them and rate it, 20 % of the verdicts the wrong
way round. After each round boosts are made from all votes, by the code of the feedback loop, and pass its guard (one
rated question in ten, at least 20 of 60, is golden, as reviewed conversations are, and not reported). Then nDCG@10 is
measured on

- paraphrases: new wordings of rated questions,
- same documents: unseen questions about documents that rated questions were about,
- other documents: unseen questions about the other half.

Beside ours, on the same votes: Onyx's formula (score × a sigmoid of the document's net votes) and RAGFlow's (one unit
on the score for each net vote on the chunk). `attack`: 5 % of the users rate everything the wrong way round.
`noise 40 %`: two verdicts in five are wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

import numpy as np
from tqdm import tqdm

from benchmarks.support.feedback_rankers import (
    SPACE,
    Asked,
    Ranker,
    Vector,
    document_id,
    net_votes,
    normalized_scores,
    onyx,
    ours,
    plain,
    ragflow,
    search,
)
from benchmarks.support.feedback_users import SHOWN, User, paraphrase
from benchmarks.support.grader_data import LabelledSet
from benchmarks.support.tables import show
from feedback.ranking import boosts as formulas
from feedback.ranking import guard as limits
from feedback.ranking.boosts import Votes
from feedback.ranking.drafting import content_of_votes, votes_weighed
from feedback.ranking.guard import TOP, Compared, judge
from feedback.ranking.question_groups import QuestionGroups, decide_among
from feedback.ranking.same_question import background_of, shipped_model
from feedback.ranking.snapshot import RatedQuestions, Snapshot, parameters
from ragsite.core.rag_settings import OllamaSettings
from retrieval.evaluation.embeddings import EmbeddingCache
from retrieval.evaluation.metrics import ndcg
from retrieval.providers.registry import ModelRegistry
from retrieval.text.analysis import query_terms

RECENT_QUESTIONS = 60  # as many as the guard of a site samples
USERS, ATTACKERS = 200, 0.05
WORDINGS, MEASURED = 4, 2  # of a rated question: those that users ask in, and those kept for measuring


@dataclass(slots=True)
class Ledger:
    """All votes so far, and the questions that they belong to, as the feedback loop keeps them."""

    questions: list[Asked] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # the same words are one rated question
    rows: list[tuple[int, int, int, float, float, int, float]] = field(default_factory=list)

    def add(self, *, question: int, passage: int, voter: int, weight: float, document_weight: float, day: int,
            normalized_score: float) -> None:  # fmt: skip
        self.rows.append((question, passage, voter, weight, document_weight, day, normalized_score))

    def number(self, asked: Asked) -> int:
        if asked.text not in self.numbers:
            self.numbers[asked.text] = len(self.questions)
            self.questions.append(asked)
        return self.numbers[asked.text]

    def votes(self) -> Votes:
        table = np.asarray(self.rows, dtype=np.float64).reshape(-1, 7)
        whole = table.astype(np.int64)
        return Votes(
            key=np.arange(len(table)), question=whole[:, 0], passage=whole[:, 1], document=whole[:, 1],
            voter=whole[:, 2], value=table[:, 3], document_value=table[:, 4], day=whole[:, 5],
            normalized_score=table[:, 6],
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------ the round
def snapshot_of(votes: Votes, questions: Sequence[Asked], *, today: int) -> Snapshot:
    """As `feedback.rounds.proposals` makes a revision; bursts wait for a person, so they are left out."""
    bursts = formulas.find_bursts(votes, least_votes=formulas.BURST_VOTES, accounts=formulas.BURST_ACCOUNTS)
    if bursts:
        votes = votes.where(~np.isin(votes.key, votes.key[np.concatenate([one.rows for one in bursts])]))
    rated = RatedQuestions(
        ids=np.arange(len(questions)),
        texts=[one.text for one in questions],
        terms=[query_terms(one.text) for one in questions],
        vectors={SPACE: np.stack([one.vector for one in questions])},
    )
    stored = rated.vectors[SPACE]
    pairs = decide_among(
        rated.ids, rated.texts, rated.terms, stored, background=background_of(stored), model=shipped_model()
    )
    votes, weights = votes_weighed(votes, lambda _: QuestionGroups.of(pairs))
    content = content_of_votes(votes, weights, today=today, document_id=document_id, parameters=parameters())
    content = replace(content, pairs=pairs.among(np.unique(content.queries.question)))
    return Snapshot(content, rated, {int(passage): str(passage) for passage in np.unique(content.queries.passage)})


# ------------------------------------------------------------------------------------------------ the questions
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    relevant: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    rated: list[Question]
    same: list[Question]
    other: list[Question]


def split(data: LabelledSet, folder: Path, *, limit: int, draw: np.random.Generator) -> Split:
    """A set with train questions rates those; else the questions about half of the documents, half of them unseen."""
    asked = questions_of(folder, "queries.jsonl", "qrels.tsv", data)
    if (folder / "queries_train.jsonl").exists():
        rated, unseen = questions_of(folder, "queries_train.jsonl", "qrels_train.tsv", data), asked
    else:
        half = set(np.flatnonzero(draw.random(data.size) < 0.5).tolist())
        inside = [one for one in asked if min(one.relevant) in half]
        chosen = draw.random(len(inside)) < 0.5
        rated = [one for one, kept in zip(inside, chosen, strict=True) if kept]
        unseen = [one for one, kept in zip(inside, chosen, strict=True) if not kept]
        unseen += [one for one in asked if min(one.relevant) not in half]
    rated = some(rated, limit, draw)
    known = frozenset().union(*(one.relevant for one in rated))
    return Split(
        rated=rated,
        same=some([one for one in unseen if one.relevant & known], limit, draw),
        other=some([one for one in unseen if not one.relevant & known], limit, draw),
    )


def questions_of(folder: Path, queries: str, qrels: str, data: LabelledSet) -> list[Question]:
    answers: dict[str, set[int]] = {}
    for line in (folder / qrels).read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")[:3]
        if float(grade) > 0 and document in data.place:
            answers.setdefault(query, set()).add(data.place[document])
    rows = [json.loads(line) for line in (folder / queries).read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Question(text=row["text"], relevant=frozenset(answers[row["id"]])) for row in rows if row["id"] in answers]


def some(questions: list[Question], limit: int, draw: np.random.Generator) -> list[Question]:
    return [questions[at] for at in draw.permutation(len(questions))[:limit]]


# ------------------------------------------------------------------------------------------------ a whole life
@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Questions to measure with, and their nDCG@10 without feedback."""

    name: str
    asked: list[Asked]

    def ndcg(self, rank: Ranker) -> float:
        qrels = {str(at): {str(passage): 1 for passage in asked.relevant} for at, asked in enumerate(self.asked)}
        rankings = {str(at): [str(passage) for passage in rank(asked)] for at, asked in enumerate(self.asked)}
        return fmean(ndcg(qrels, rankings, k=TOP).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One set, searched once for every wording. wordings: of each rated question, those to be rated."""

    wordings: list[list[Asked]]
    golden: list[Asked]
    groups: list[Group]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """seen: of each rated question, the passages that somebody was shown."""

    rankers: Mapping[str, Ranker]
    votes: int
    held: int
    seen: list[set[int]]


def live_through(
    world: World, *, noise: float, attackers: float, asks: tuple[int, int], rounds: int, seed: int
) -> Outcome:
    """Users ask, see the ranking as it is by then, and rate it; after each round the guard decides on new boosts.

    asks: how often a rated question is asked, at least and at most.
    """
    draw = np.random.default_rng(seed)
    users = [User(number=at, noise=noise, malicious=at < USERS * attackers) for at in range(USERS)]
    counts = draw.integers(asks[0], asks[1] + 1, len(world.wordings)).tolist()
    ledger, rank, held = Ledger(), plain, 0
    asked_so_far: list[Asked] = []
    seen: list[set[int]] = [set() for _ in world.wordings]
    for day in range(rounds):
        for wordings, count, passages in zip(world.wordings, counts, seen, strict=True):
            for at in range(day, count, rounds):
                asked = wordings[at % WORDINGS]
                user = users[int(draw.integers(USERS))]
                shown, normalized_score = rank(asked)[:SHOWN], normalized_scores(asked)
                passages.update(shown)
                asked_so_far.append(asked)
                for credit in user.rate(shown, set(asked.relevant), draw):
                    ledger.add(
                        question=ledger.number(asked), passage=shown[credit.marker - 1], voter=user.number,
                        weight=credit.weight, document_weight=credit.document_weight, day=day,
                        normalized_score=normalized_score[shown[credit.marker - 1]],
                    )  # fmt: skip
        proposed = ours(snapshot_of(ledger.votes(), ledger.questions, today=rounds))
        report = judge(
            [compared(one, rank, proposed) for one in world.golden],
            [compared(one, rank, proposed) for one in asked_so_far[-RECENT_QUESTIONS :]],
            margin=limits.GOLDEN_MARGIN, max_churn=limits.MAX_CHURN,
        )  # fmt: skip
        if report.passed:
            rank = proposed
        else:
            held += 1
    net = net_votes(ledger.votes())
    rankers = {"no feedback": plain, "ours": rank, "Onyx's formula": onyx(net), "RAGFlow's unit": ragflow(net)}
    return Outcome(rankers=rankers, votes=len(ledger.rows), held=held, seen=seen)


def compared(asked: Asked, before: Ranker, after: Ranker) -> Compared:
    return Compared(
        question=asked.text,
        before=[str(one) for one in before(asked)],
        after=[str(one) for one in after(asked)],
        relevant={str(one): 1 for one in asked.relevant},
    )


# ------------------------------------------------------------------------------------------------ the command
async def embedded(texts: Sequence[str], cache: Path) -> dict[str, Vector]:
    """By the embedding model of the server, kept on disk."""
    models = ModelRegistry(OllamaSettings(base_url=os.environ["OLLAMA_BASE_URL"], offline="0"))
    try:
        with EmbeddingCache(cache) as known, tqdm(total=len(set(texts)), desc="embedding", leave=False) as bar:
            return await known.embed(await models.default_embedder(), "query", texts, batch=32, bar=bar)
    finally:
        await models.close()


def build(name: str, options: argparse.Namespace, seed: int) -> World:
    data = LabelledSet(name, options.folder, options.embeddings)
    draw = np.random.default_rng(seed)
    parts = split(data, options.folder / name, limit=options.limit, draw=draw)
    wordings = [[paraphrase(one.text, draw) for _ in range(WORDINGS + MEASURED)] for one in parts.rated]
    goldens = max(len(parts.rated) // 10, min(20, len(parts.rated) // 3))
    unseen = [one.text for one in (*parts.rated[:goldens], *parts.same, *parts.other)]
    cache = options.embeddings / "feedback_simulation.sqlite3"
    vectors = asyncio.run(embedded([*unseen, *(text for texts in wordings for text in texts)], cache))

    def ask(text: str, question: Question) -> Asked:
        vector = vectors[text]
        return Asked(text=text, vector=vector, relevant=question.relevant, found=search(data, text, vector))

    asked = [[ask(text, question) for text in texts] for texts, question in zip(wordings, parts.rated, strict=True)]
    return World(
        wordings=[of_one[:WORDINGS] for of_one in asked],
        golden=[ask(one.text, one) for one in parts.rated[:goldens]],
        groups=[
            Group(name="paraphrases", asked=[one for of_one in asked[goldens:] for one in of_one[-MEASURED:]]),
            Group(name="same documents", asked=[ask(one.text, one) for one in parts.same]),
            Group(name="other documents", asked=[ask(one.text, one) for one in parts.other]),
        ],
    )


SCENES = {"noise 20 %": (0.2, 0.0), "attack": (0.2, ATTACKERS), "noise 40 %": (0.4, 0.0)}


def rows_of(name: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Means over the seeds: each draws its own questions, wordings, users and mistakes."""
    worlds = [(seed, build(name, options, seed)) for seed in options.seeds]
    rows: list[dict[str, object]] = []
    for scene, (noise, attackers) in SCENES.items():
        lived = [
            (
                world,
                live_through(
                    world, noise=noise, attackers=attackers, asks=options.asks, rounds=options.rounds, seed=seed
                ),
            )
            for seed, world in worlds
        ]
        for at, group in enumerate(worlds[0][1].groups):
            values = [
                {by: 100 * world.groups[at].ndcg(rank) for by, rank in outcome.rankers.items()}
                for world, outcome in lived
                if world.groups[at].asked
            ]
            if values:
                rows.append({"set": name, "scene": scene, "questions": group.name, **_told(values, lived, at)})
    return rows


def never_seen(world: World, outcome: Outcome) -> float:
    """Share of the paraphrases' distance to 1 that lies in passages which nobody was shown, so nobody could rate."""
    group, seen = world.groups[0], outcome.seen[len(world.golden) :]
    distance = hidden = 0.0
    for at, asked in enumerate(group.asked):
        wanted = {str(passage): 1 for passage in asked.relevant}
        first = [str(passage) for passage in asked.relevant & seen[at // MEASURED]]
        rankings = {"now": [str(passage) for passage in plain(asked)], "possible": first}
        values = ndcg(dict.fromkeys(rankings, wanted), rankings, k=TOP)
        distance += 1.0 - values["now"]
        hidden += 1.0 - max(values.values())
    return hidden / distance if distance else 0.0


def _told(values: list[dict[str, float]], lived: list[tuple[World, Outcome]], at: int) -> dict[str, object]:
    means = {by: fmean(one[by] for one in values) for by in values[0]}
    base = means["no feedback"]
    return {
        "n": sum(len(world.groups[at].asked) for world, _ in lived),
        **means,
        "closed %": 100 * (means["ours"] - base) / (100 - base) if base < 100 else 0.0,
        "never seen %": 100 * fmean(never_seen(*one) for one in lived) if at == 0 else None,
        "worst seed": min(one["ours"] - one["no feedback"] for one in values),
        "votes": sum(outcome.votes for _, outcome in lived) // len(lived),
        "held": fmean(outcome.held for _, outcome in lived),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embeddings", type=Path, required=True)
    parser.add_argument("--sets", default="scifact_en,hotpotqa_en,squad2_en,xquad_en")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=400, help="questions of a kind and set, at most")
    parser.add_argument("--asks", type=lambda text: tuple(map(int, text.split("-"))), default=(2, 4), metavar="2-4")
    parser.add_argument(
        "--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1], metavar="0,1"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in options.sets.split(","):
        rows += rows_of(name, options)
    notes = [
        "nDCG@10 × 100, means over the seeds. closed: ours, share of the distance to 100. never seen: the share of it "
        "that lies in passages nobody was shown. worst seed: ours against no feedback where that is least. "
        "held: rounds that the guard did not let live."
    ]
    show(rows, as_json=options.json, notes=notes)


if __name__ == "__main__":
    main()
