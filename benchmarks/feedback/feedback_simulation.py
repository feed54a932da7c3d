"""Do ratings make retrieval better, and nothing worse? Simulated people on labelled sets, beside others' formulas.

    python -m benchmarks.feedback_simulation FOLDER --embeddings EMBEDDINGS --tune|--report|--sets a,b [--json]

FOLDER holds one folder per set, as for `manage.py evaluate`; EMBEDDINGS keeps vectors by the embedding model of the
Ollama server at OLLAMA_BASE_URL. Parameters are chosen on the sets of `--tune`, figures told of those of `--report`.

Some 60 questions of a set have been reworded by hand, each in three ways (`benchmarks/data/rewordings`): people ask
them in their own words and in two of the rewordings, the third is kept for measuring. As many other questions are asked
beside them. What people do is in `benchmarks/feedback/users.py`; it is not what the estimator assumes. In `--rounds`
rounds they see the ranking that is live by then; after each, a revision is made by the code of the feedback loop, and
has to pass its guard; halfway through, documents change. Then nDCG@10 is measured on

- rated words: those that people used and rated,
- rewordings: those that were kept, of rated questions,
- contrast: questions that look like rated ones and ask something else, written by hand: the first three places without
  feedback are to stay, in their order,
- near misses: unseen questions of the set that share many words with a rated one and have another answer,
- same documents, other documents: other unseen questions, by whether a rated one is about the same passage,
- targets: the questions of a hostile cohort.

Beside ours, on the same votes: Onyx's formula, RAGFlow's, and Rocchio's alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.feedback.attacks import COHORTS
from benchmarks.feedback.corpus import TOP, Asked, Corpus
from benchmarks.feedback.life import Life, Scene, live_through
from benchmarks.feedback.rankers import Ranker, onyx, ours, plain, ragflow, rocchio
from benchmarks.feedback.rated_sets import REWORDINGS, load
from benchmarks.feedback.world import World, build
from benchmarks.support.tables import show
from retrieval.evaluation.metrics import ndcg

TUNE = ("squad2_en",)
REPORT = ("scifact_en", "cmrc2018_zh")
DOCUMENTS = 1500  # passages of a set at most
RANDOM = {"random": 1.0}
SCENES = (
    Scene(name="2-4 raters"),
    Scene(name="8-16 raters", raters=(8, 16)),
    Scene(name="answers only", answers_only=True),
    Scene(name="40 % noise", noise=0.4),
    Scene(name="half lazy", tempers={"careful": 0.2, "ordinary": 0.2, "lazy": 0.5, "random": 0.1}),
    Scene(name="random 60 % up", tempers=RANDOM, up_share=0.6),
    Scene(name="random 80 % up", tempers=RANDOM, up_share=0.8),
    Scene(name="random 90 % up", tempers=RANDOM, up_share=0.9),
    *(Scene(name=name, cohort=name) for name in COHORTS),
)
COMPARED_IN = (
    "2-4 raters",
    "8-16 raters",
)  # scenes in which the others' formulas are measured, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Questions to measure with. kept: the first places without feedback are what counts, not labels."""

    name: str
    asked: Sequence[Asked]
    kept: bool = False

    def ndcg(self, corpus: Corpus, rank: Ranker) -> float:
        wanted = {str(at): self._wanted(corpus, one) for at, one in enumerate(self.asked)}
        rankings = {str(at): [str(slot) for slot in rank(one)] for at, one in enumerate(self.asked)}
        return 100 * fmean(ndcg(wanted, rankings, k=TOP).values())

    def _wanted(self, corpus: Corpus, asked: Asked) -> dict[str, int]:
        if not self.kept:
            return {str(slot): 1 for slot in corpus.relevant(asked)}
        return {str(slot): 3 - place for place, slot in enumerate(plain(corpus)(asked)[:3])}


def groups_of(world: World, life: Life) -> list[Group]:
    rated = world.rated
    found = [
        Group(
            name="rated words",
            asked=[one for question in rated for one in question.asked if question.kept],
        ),
        Group(name="rewordings", asked=[one for question in rated for one in question.kept]),
        Group(name="contrast", asked=[one.contrast for one in rated if one.contrast], kept=True),
        Group(name="near misses", asked=world.near),
        Group(name="same documents", asked=world.same),
        Group(name="other documents", asked=world.other),
        Group(
            name="targets",
            asked=[one for at in life.targets for one in (rated[at].asked[0], *rated[at].kept)],
        ),
    ]
    return [group for group in found if group.asked]


def rankers(world: World, scene: Scene, life: Life) -> Iterator[tuple[str, Ranker]]:
    """The others' formulas only in the scenes where they are compared."""
    corpus = world.corpus
    yield "none", plain(corpus)
    yield "ours", plain(corpus) if life.live is None else ours(corpus, life.live)
    if scene.name in COMPARED_IN:
        yield "Onyx", onyx(corpus, life.votes)
        yield "RAGFlow", ragflow(corpus, life.votes)
        yield (
            "Rocchio",
            rocchio(corpus, life.votes, np.stack([one.vector for one in life.questions])),
        )


def rows_of(
    name: str, options: argparse.Namespace, say: Callable[[str], None]
) -> list[dict[str, object]]:
    """Means over the seeds: each draws its own questions, people and mistakes."""
    data = load(name, options.folder, documents=options.documents, rewordings=options.rewordings)
    worlds = {
        seed: build(data, options.embeddings / "feedback_simulation.sqlite3", seed=seed)
        for seed in options.seeds
    }
    rows: list[dict[str, object]] = []
    for scene in SCENES:
        if options.scenes and scene.name not in options.scenes:
            continue
        say(f"{name}: {scene.name}")
        scene = replace(scene, golden=options.golden)
        values: dict[str, list[dict[str, float]]] = {}
        lives = []
        for seed, world in worlds.items():
            life = live_through(world, scene, rounds=options.rounds, seed=seed)
            lives.append(life)
            ranked = dict(rankers(world, scene, life))
            for group in groups_of(world, life):
                found = {by: group.ndcg(world.corpus, rank) for by, rank in ranked.items()}
                values.setdefault(group.name, []).append({**found, "n": float(len(group.asked))})
        rows += [{"set": name, "scene": scene.name, **row} for row in _told(values, lives)]
    return rows


def _told(
    values: dict[str, list[dict[str, float]]], lives: Sequence[Life]
) -> Iterator[dict[str, object]]:
    for group, found in values.items():
        mean = {by: fmean(one[by] for one in found) for by in found[0]}
        base = mean["none"]
        others = {by: mean.get(by) for by in ("Onyx", "RAGFlow", "Rocchio")}
        yield {
            "questions": group,
            "n": int(sum(one["n"] for one in found)),
            "none": base,
            "ours": mean["ours"],
            "gain": mean["ours"] - base,
            "worst seed": min(one["ours"] - one["none"] for one in found),
            "closed %": 100 * (mean["ours"] - base) / (100 - base)
            if group in ("rated words", "rewordings") and base < 100
            else None,
            **others,
            "votes": fmean(len(life.votes) for life in lives),
            "held": fmean(len(life.held) for life in lives),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embeddings", type=Path, required=True)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--sets", type=_names, default=(*TUNE, *REPORT), metavar="a,b")
    chosen.add_argument("--tune", action="store_const", dest="sets", const=TUNE)
    chosen.add_argument("--report", action="store_const", dest="sets", const=REPORT)
    parser.add_argument("--scenes", type=_names, default=(), metavar="a,b", help="all by default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--documents", type=int, default=DOCUMENTS, help="passages of a set, at most"
    )
    parser.add_argument("--rewordings", type=Path, default=REWORDINGS)
    parser.add_argument(
        "--golden", action="store_true", help="the guard has golden questions (by default none)"
    )
    parser.add_argument(
        "--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1]
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in options.sets:
        rows += rows_of(name, options, lambda line: print(line, file=sys.stderr))
    notes = [
        "nDCG@10 × 100, means over the seeds. closed: ours, share of the distance to 100. worst seed: ours against no "
        "feedback where that is least. held: rounds that the guard did not let live."
    ]
    show(rows, as_json=options.json, notes=notes)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


if __name__ == "__main__":
    main()
