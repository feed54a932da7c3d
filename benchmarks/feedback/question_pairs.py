"""Do two questions want the same answer? Pairs written by hand, before and now.

    python -m benchmarks.question_pairs --embedder all-minilm@http://127.0.0.1:11434 [--json]
    python -m benchmarks.question_pairs --embedder … --data SETS --train

Reported, on `data/question_pairs/report.jsonl`: of the pairs that want the same answer, and of those that do not, the
share that is taken to want the same (probability ≥ .5), with the vectors of each embedder and by words alone.
"before" is `QuestionSimilarity`, from .5 on. `--train` fits the weights (`feedback/ranking/same_question.json`) to
`tune.jsonl`, whose domains are others, with the vectors of all embedders that are given, and reports for it too, each
domain by a model that was fitted to the others. As questions that want different answers it is also shown, of the
labelled sets TRAINED_ON in SETS, the nearest pairs by words: without them a model learns of contrasts alone, and takes
any two questions about one thing for the same. How many of the nearest pairs of the other sets it takes for the same is
reported (some of them are). Where neither question has Chinese characters, the weights with a cosine are fitted to
rewordings of the sets REWORDED_TRAINED as well, which other hands have written; all of REWORDED are reported.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.feedback.rated_sets import MANNERS, load
from benchmarks.support.manual_questions import manual_set
from benchmarks.support.tables import show
from feedback.ranking import question_similarity
from feedback.ranking.question_groups import nearest_by_terms
from feedback.ranking.question_similarity import QuestionSimilarity, TermIndex
from feedback.ranking.same_question import (
    FORBIDDEN,
    ONE_WORD_MORE,
    SHIPPED,
    UNKNOWN,
    VECTOR_SIGNALS,
    WORD_SIGNALS,
    Commonness,
    SameQuestionModel,
    above_background,
    background_of,
    difference,
    load_model,
    pair_signals,
    read_question,
    set_apart,
    shipped_model,
)
from retrieval.answerability.model import MAX_DEVIATIONS
from retrieval.providers.embeddings import prefixes
from retrieval.text.analysis import query_terms

FOLDER = Path(__file__).parents[1] / "data" / "question_pairs"
SAME_FROM = 0.5
TRAINED_ON = ("squad2_en", "cmrc2018_zh", "docs_en_milvus")
REPORTED_ON = ("hotpotqa_en", "xquad_en", "scifact_en", "rgb_zh", "docs_zh_tidb")
QUESTIONS_OF_SET, NEAREST_OF_SET = 500, 700  # of each set: questions, and their nearest pairs
CAUTION = 2.0  # how much more different questions weigh where the cosine's weights are fitted
OF_SET = {"squad2_en": 100.0, "cmrc2018_zh": 90.0, "docs_en_milvus": 100.0}  # weight of all pairs of it together
PENALTY = 2.0  # of the squared weights
DIFFERENT_WEIGHS = 2.0  # a contrast pair, for one rewording
REWORDED_TRAINED = ("squad2_en", "docs_en_milvus")
REWORDED = (*REWORDED_TRAINED, "scifact_en", "cmrc2018_zh", "docs_zh_tidb")
BESIDE_WEIGHS = 0.5  # a pair of two questions of one set, for one rewording
NEAR_EVERY = 2  # of the nearest pairs of labelled sets that have vectors
NEIGHBOURS = 3  # other questions that each one is also paired with, as questions that want another answer
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    language: str
    domain: str
    kind: str
    a: str
    b: str
    same: bool
    common: Commonness = UNKNOWN  # of the questions of its set


@dataclass(frozen=True, slots=True)
class Vectors:
    """Of all questions by one embedding model. background: `background_of` them; backgrounds: of labelled sets."""

    model: str
    of: Mapping[str, NDArray[np.float32]]
    background: float
    backgrounds: Mapping[str, float] = field(default_factory=dict)

    def knows(self, pair: Pair) -> bool:
        return pair.a in self.of and pair.b in self.of

    def cosine(self, a: str, b: str, domain: str = "") -> float:
        background = self.backgrounds.get(domain, self.background)
        return above_background(float(self.of[a] @ self.of[b]), background)

    def with_sets(self, pairs: Sequence[Pair]) -> Vectors:
        """A set's questions have a background of their own, as those of a site have."""
        by_set: dict[str, list[str]] = {}
        for pair in pairs:
            by_set.setdefault(pair.domain, []).extend((pair.a, pair.b))
        found = {name: background_of(np.stack([self.of[text] for text in texts])) for name, texts in by_set.items()}
        return replace(self, backgrounds=found)


def read_pairs(name: str) -> list[Pair]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Pair(**json.loads(line)) for line in lines]


def embedded(embedder: str, texts: Sequence[str], cache: Path | None) -> Vectors:
    """embedder: MODEL@URL of a server with Ollama's protocol."""
    model, url = embedder.split("@", 1)
    kept = cache / f"{re.sub(r'[^a-z0-9]+', '_', model.lower())}.npz" if cache else None
    known: dict[str, NDArray[np.float32]] = {}
    if kept and kept.exists():
        with np.load(kept, allow_pickle=False) as stored:
            known = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))
    missing = [text for text in texts if text not in known]
    prefix, _ = prefixes(model)
    for start in range(0, len(missing), 64):
        batch = missing[start : start + 64]
        body = {"model": model, "input": [prefix + text for text in batch]}
        found = httpx.post(f"{url}/api/embed", json=body, timeout=600).raise_for_status().json()["embeddings"]
        for text, vector in zip(batch, found, strict=True):
            own = np.asarray(vector, dtype=np.float32)
            known[text] = own / np.linalg.norm(own)
    if kept:
        np.savez(kept, texts=np.asarray(list(known)), vectors=np.stack(list(known.values())))
    return Vectors(model, known, background_of(np.stack([known[text] for text in texts])))


# ------------------------------------------------------------------------------------------------ training
@dataclass(frozen=True, slots=True)
class Rows:
    signals: Matrix
    same: Matrix
    weight: Matrix
    domain: NDArray[np.str_]


def training_rows(
    pairs: Sequence[Pair],
    near: Sequence[Pair],
    vectors: Sequence[Vectors],
    names: Sequence[str],
    *,
    contrast: float = DIFFERENT_WEIGHS,
) -> Rows:
    """The pairs that no difference sets apart, and as others each question beside its neighbours in its domain."""
    labelled = [*pairs, *_neighbours(pairs, vectors), *near]
    of_near = {name: OF_SET[name] / count for name, count in Counter(pair.domain for pair in near).items()}
    cosines: Sequence[Vectors | None] = list(vectors) if names == VECTOR_SIGNALS else [None]
    signals, same, weight, domains = [], [], [], []
    for pair in labelled:
        first, second = read_question(min(pair.a, pair.b)), read_question(max(pair.a, pair.b))
        # Those that differ in one word more stay: without them the model has hardly seen what contains another one.
        if set_apart(first, second, pair.common) and difference(first, second, pair.common) != ONE_WORD_MORE:
            continue
        usable = [cosine for cosine in cosines if cosine is None or cosine.knows(pair)]
        for space in usable:
            cosine = space.cosine(pair.a, pair.b, pair.domain) if space else None
            signals.append(pair_signals(first, second, cosine, pair.common))
            same.append(float(pair.same))
            of_kind = {"neighbour": 0.3, "beside": BESIDE_WEIGHS, "nearest": of_near.get(pair.domain, 0.0)}.get(
                pair.kind, contrast
            )
            weight.append((1.0 if pair.same else of_kind) / len(usable))
            domains.append(pair.domain)
    return Rows(np.asarray(signals), np.asarray(same), np.asarray(weight), np.asarray(domains))


def nearest_pairs(data: Path, name: str) -> list[Pair]:
    """Of a labelled set: pairs of different questions, the nearest by words."""
    asked = questions_of_set(data, name)
    spread = asked[:: max(1, len(asked) // QUESTIONS_OF_SET)] if name != "squad2_en" else asked[: QUESTIONS_OF_SET * 2]
    texts = list(dict.fromkeys(spread))
    rows = np.arange(len(texts))
    terms = [list(dict.fromkeys(query_terms(text))) for text in texts]
    found = nearest_by_terms(rows, rows, terms)
    common = Commonness.of(TermIndex(terms).holders(), len(terms))
    language = "zh-hans" if name.endswith("zh") or "_zh_" in name else "en"
    pairs = [
        Pair(language, name, "nearest", texts[first], texts[second], same=False, common=common)
        for first, second in found
    ]
    drawn = np.random.default_rng(0).permutation(len(pairs))[:NEAREST_OF_SET]
    return [pairs[place] for place in drawn.tolist()]


def reworded_pairs(data: Path, name: str) -> list[Pair]:
    """Of a labelled set: questions beside their rewordings by other hands, and beside what they do not ask: the
    contrast, and the nearest others by words, as they stand and reworded."""
    whole = load(name, data, documents=1500)
    asked = [one for one in (*whole.questions, *whole.train) if one.rewordings]
    language = "zh-hans" if name.endswith("zh") or "_zh_" in name else "en"
    terms = [list(dict.fromkeys(query_terms(one.text))) for one in asked]
    index = TermIndex(terms)
    common = Commonness.of(index.holders(), len(terms))

    def pair(kind: str, a: str, b: str, *, same: bool = False) -> Pair:
        return Pair(language, name, kind, a, b, same, common)

    found = []
    for place, one in enumerate(asked):
        terse, _, formal = one.rewordings
        found += [pair(kind, one.text, text, same=True) for kind, text in zip(MANNERS, one.rewordings, strict=True)]
        found.append(pair("two rewordings", terse, formal, same=True))
        found.append(pair("contrast", one.text, one.contrast))
        overlap = index.compare(terms[place])[0]
        for other in [at for at in np.argsort(-overlap, kind="stable").tolist() if at != place][:NEIGHBOURS]:
            found += [pair("beside", one.text, asked[other].text), pair("beside", one.text, asked[other].rewordings[0])]
    return found


def questions_of_set(data: Path, name: str) -> list[str]:
    """As they stand in queries.jsonl; of a manual, those made from its headings."""
    archive = data / name / f"{name}.tar.gz"
    if archive.exists():
        return [row["text"] for row in manual_set(archive).queries]
    lines = (data / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def _neighbours(pairs: Sequence[Pair], vectors: Sequence[Vectors]) -> list[Pair]:
    """Each pair's first question beside those of other pairs of its domain and language that are nearest to it."""
    found = []
    firsts = [pair for pair in pairs if pair.same and pair.domain not in REWORDED]  # these bring theirs along
    for pair in firsts:
        others = [
            one for one in firsts if one is not pair and (one.language, one.domain) == (pair.language, pair.domain)
        ]
        near = sorted(others, key=lambda one: -sum(space.cosine(pair.a, one.a) for space in vectors))
        found += [
            Pair(pair.language, pair.domain, "neighbour", pair.a, other.b, same=False) for other in near[:NEIGHBOURS]
        ]
    return found


def fitted(rows: Rows, names: Sequence[str], known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A logistic model by Newton's method, with a penalty on the squared weights.

    known: a model of some of the signals, whose weights stand: the others are fitted to what it leaves open.
    """
    share = rows.weight / rows.weight.sum()
    mean = share @ rows.signals
    deviation = np.sqrt(share @ (rows.signals - mean) ** 2)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    weights = np.zeros(len(names))
    bias = 0.0
    free = np.ones(len(names), dtype=bool)
    if known:
        bias = known["bias"]
        for place, name in enumerate(names):
            if name in known["signals"]:
                one = known["signals"][name]
                weights[place], mean[place], deviation[place] = one["weight"], one["mean"], one["deviation"]
                free[place] = False
    scaled = ((rows.signals - mean) / deviation).clip(-MAX_DEVIATIONS, MAX_DEVIATIONS)
    offset = bias + scaled @ weights
    design = np.column_stack((np.ones(len(scaled)), scaled[:, free]))
    penalty = np.full(design.shape[1], PENALTY)
    penalty[0] = 1e-6
    found = np.zeros(design.shape[1])
    for _ in range(30):
        likely = 1.0 / (1.0 + np.exp(-(offset + design @ found)))
        slope = design.T @ (rows.weight * (likely - rows.same)) + penalty * found
        curve = (design * (rows.weight * likely * (1.0 - likely))[:, None]).T @ design + np.diag(penalty)
        found = found - np.linalg.solve(curve, slope)
    weights[free] = found[1:]
    columns = zip(names, weights, mean, deviation, strict=True)
    signals = {
        name: {"weight": round(float(weight), 5), "mean": round(float(middle), 5), "deviation": round(float(spread), 5)}
        for name, weight, middle, spread in columns
    }
    return {"bias": round(float(bias + found[0]), 5), "signals": signals}


def trained(
    pairs: Sequence[Pair], near: Sequence[Pair], reworded: Sequence[Pair], vectors: Sequence[Vectors]
) -> dict[str, Any]:
    """By words first; then what a cosine adds, from the pairs written by hand, which have vectors. Without Chinese
    characters, all of it anew, from rewordings of two labelled sets as well."""
    words = fitted(training_rows(pairs, near, vectors, WORD_SIGNALS), WORD_SIGNALS)
    rows = training_rows(pairs, [], vectors, VECTOR_SIGNALS)
    cautious = replace(rows, weight=np.where(rows.same > 0, rows.weight, CAUTION * rows.weight))
    with_cosine = fitted(cautious, VECTOR_SIGNALS, known=words)
    latin = [[pair for pair in part if pair.language == "en"] for part in ([*pairs, *reworded], near[::NEAR_EVERY])]
    latin_rows = training_rows(latin[0], latin[1], vectors, VECTOR_SIGNALS, contrast=CAUTION * DIFFERENT_WEIGHS)
    return {"latin": fitted(latin_rows, VECTOR_SIGNALS), "vectors": with_cosine, "words": words}


def held_out(
    pairs: Sequence[Pair], near: Sequence[Pair], reworded: Sequence[Pair], vectors: Sequence[Vectors]
) -> list[dict[str, object]]:
    """Each domain of `tune` by a model that was fitted to the others."""
    found: list[dict[str, object]] = []
    taken: dict[str, list[tuple[Pair, float]]] = {}
    for domain in sorted({pair.domain for pair in pairs}):
        model = load_model(trained([pair for pair in pairs if pair.domain != domain], near, reworded, vectors))
        for name, probability in ways(model, vectors, before=None).items():
            own = [pair for pair in pairs if pair.domain == domain]
            taken.setdefault(name, []).extend((pair, probability(pair)) for pair in own)
    for name, rows in taken.items():
        found.append({"by": name, "of": "tune, held out", **shares(rows)})
    return found


# ------------------------------------------------------------------------------------------------ report
def ways(
    model: SameQuestionModel, vectors: Sequence[Vectors], before: Sequence[str] | None
) -> dict[str, Callable[[Pair], float]]:
    """before: all questions, to measure what was there before as well."""
    found: dict[str, Callable[[Pair], float]] = {
        "words": lambda pair: model.probability(pair.a, pair.b, common=pair.common)
    }
    for space in vectors:
        found[space.model] = lambda pair, space=space: model.probability(  # type: ignore[misc]
            pair.a, pair.b, cosine=space.cosine(pair.a, pair.b, pair.domain), common=pair.common
        )
    if before is not None:
        index = TermIndex([query_terms(text) for text in before])
        place = {text: row for row, text in enumerate(before)}
        plain = QuestionSimilarity(
            cosine_from=question_similarity.COSINE_FROM, cosine_full=question_similarity.COSINE_FULL,
            overlap_from=question_similarity.OVERLAP_FROM, overlap_full=question_similarity.OVERLAP_FULL,
        )  # fmt: skip

        def earlier(pair: Pair, space: Vectors | None, similarity: QuestionSimilarity) -> float:
            overlap, same_numbers = index.compare(query_terms(pair.a))
            row = slice(place[pair.b], place[pair.b] + 1)
            near = None
            if space is not None:
                near = similarity.by_vectors(np.asarray([space.of[pair.a] @ space.of[pair.b]], dtype=np.float32))
            return float(similarity.combined(near, overlap[row], same_numbers[row])[0])

        found["words, before"] = lambda pair: earlier(pair, None, plain)
        for space in vectors:
            own = plain.calibrated(np.stack([space.of[text] for text in before]))
            found[f"{space.model}, before"] = lambda pair, space=space, own=own: earlier(  # type: ignore[misc]
                pair, space, own
            )
    return found


def shares(rows: Sequence[tuple[Pair, float]]) -> dict[str, object]:
    """Of rewordings and of contrast pairs, the share that is taken to want the same answer, in %."""
    found: dict[str, object] = {}
    for name, same in (("same", True), ("different", False)):
        own = [likely >= SAME_FROM for pair, likely in rows if pair.same == same]
        found[name] = 100.0 * sum(own) / len(own) if own else None
        found[f"of {name}"] = len(own)
    return found


def report(pairs: Sequence[Pair], by: Mapping[str, Callable[[Pair], float]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, probability in by.items():
        likely = [(pair, probability(pair)) for pair in pairs]
        rows.append({"by": name, "of": "all", **shares(likely)})
        for language in ("en", "zh-hans", "zh-hant"):
            own = [row for row in likely if row[0].language == language]
            rows.append({"by": name, "of": language, **shares(own)})
        if "before" not in name:
            for kind in dict.fromkeys(pair.kind for pair in pairs):
                rows.append({"by": name, "of": kind, **shares([row for row in likely if row[0].kind == kind])})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", action="append", default=[], metavar="MODEL@URL")
    parser.add_argument("--data", type=Path, help="labelled sets, one folder each")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--train", action="store_true", help="write the weights first")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    tune, told = read_pairs("tune"), read_pairs("report")
    reworded = {name: reworded_pairs(arguments.data, name) for name in REWORDED} if arguments.data else {}
    sets = [pair for pairs in reworded.values() for pair in pairs]
    texts = list(dict.fromkeys(text for pair in (*tune, *told, *sets) for text in (pair.a, pair.b)))
    near = [pair for name in TRAINED_ON for pair in nearest_pairs(arguments.data, name)] if arguments.data else []
    others = {name: nearest_pairs(arguments.data, name) for name in REPORTED_ON} if arguments.data else {}
    spread = list(dict.fromkeys(text for pair in near[::NEAR_EVERY] for text in (pair.a, pair.b)))
    embedders = [embedded(one, [*texts, *spread], arguments.cache) for one in arguments.embedder]
    vectors = [one.with_sets(sets) for one in embedders]
    training = [pair for name in REWORDED_TRAINED for pair in reworded.get(name, [])]
    rows: list[dict[str, object]] = []
    if arguments.train:
        if not (vectors and near):
            parser.error("--train needs an --embedder and --data")
        data = {"trained_on": [one.model for one in vectors], **trained(tune, near, training, vectors)}
        SHIPPED.write_text(_readable(data), encoding="utf-8")
        shipped_model.cache_clear()
        rows = held_out(tune, near, training, vectors)
    rows += report(told, ways(shipped_model(), vectors, texts))
    for name, pairs in reworded.items():
        for by, probability in ways(shipped_model(), vectors, None).items():
            likely = [(pair, probability(pair)) for pair in pairs]
            for kind in dict.fromkeys(pair.kind for pair in pairs):
                own = shares([row for row in likely if row[0].kind == kind])
                rows.append({"by": by, "of": f"{name}: {kind}", **own})
    for name, pairs in others.items():
        for by, probability in ways(shipped_model(), [], None).items():
            rows.append({"by": by, "of": f"nearest of {name}", **shares([(pair, probability(pair)) for pair in pairs])})
    notes = [f"Differences alone leave at most {FORBIDDEN}; the rest is the model's."]
    show(rows, as_json=arguments.json, notes=notes)


def _readable(data: Mapping[str, Any]) -> str:
    """JSON with one signal a line."""
    rows = re.compile(r"\{\s+(\"weight\": \S+)\s+(\"mean\": \S+)\s+(\"deviation\": \S+)\s+\}")
    return rows.sub(r"{\1 \2 \3}", json.dumps(data, indent=1)) + "\n"


if __name__ == "__main__":
    main()
