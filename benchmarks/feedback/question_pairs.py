"""Do two questions want the same answer? Pairs written by hand, by words and by an embedding model's cosine.

    python -m benchmarks.question_pairs --embedder all-minilm@http://127.0.0.1:11434 [--json]

Of the pairs in `data/question_pairs`: the share that is taken for the same, of those that want the same answer and of
those that do not (contrasts, which differ in one decisive word), for several least cosines.
`retrieval.engine.text.same_question.SAME_COSINE` was chosen on `tune`, so that at most one contrast in twenty is taken
for the same; `report` has other domains.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.support.tables import show
from retrieval.engine.providers.embeddings import prefixes
from retrieval.engine.text.same_question import SAME_COSINE, KnownQuestions, wording

FOLDER = Path(__file__).parents[1] / "data" / "question_pairs"
COSINES = (0.8, 0.85, 0.88, 0.9, 0.92, 0.95)
Vector = NDArray[np.float32]


def embedded(embedder: str, texts: Sequence[str]) -> dict[str, Vector]:
    """embedder: MODEL@URL of a server with Ollama's protocol."""
    model, url = embedder.split("@", 1)
    prefix, _ = prefixes(model)
    vectors: dict[str, Vector] = {}
    for start in range(0, len(texts), 64):
        batch = texts[start : start + 64]
        body = {"model": model, "input": [prefix + text for text in batch]}
        found = (
            httpx.post(f"{url}/api/embed", json=body, timeout=600)
            .raise_for_status()
            .json()["embeddings"]
        )
        for text, vector in zip(batch, found, strict=True):
            own = np.asarray(vector, dtype=np.float32)
            vectors[text] = own / np.linalg.norm(own)
    return vectors


def shares(
    pairs: Sequence[Mapping[str, object]], vectors: Mapping[str, Vector], cosine: float
) -> dict[str, object]:
    """In %, of pairs that want the same and of those that do not, by language."""
    taken: dict[str, list[bool]] = {}
    for pair in pairs:
        first, second = (wording(str(pair[name]), vectors.get(str(pair[name]))) for name in "ab")
        same = bool(KnownQuestions({0: first}).same(second, least_cosine=cosine))
        for group in ("all", "en" if pair["language"] == "en" else "zh"):
            taken.setdefault(f"{group}: {'same' if pair['same'] else 'contrast'}", []).append(same)
    return {name: 100 * sum(values) / len(values) for name, values in sorted(taken.items())}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedder", metavar="MODEL@URL")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in ("tune", "report"):
        lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        pairs = [json.loads(line) for line in lines]
        texts = list(dict.fromkeys(str(pair[side]) for pair in pairs for side in "ab"))
        vectors = embedded(options.embedder, texts) if options.embedder else {}
        rows.append({"pairs": name, "least cosine": None, **shares(pairs, {}, 1.0)})
        if vectors:
            rows += [
                {"pairs": name, "least cosine": cosine, **shares(pairs, vectors, cosine)}
                for cosine in COSINES
            ]
    show(
        rows,
        as_json=options.json,
        notes=[f"In %; without a cosine: by words alone. The site's: {SAME_COSINE}."],
    )


if __name__ == "__main__":
    main()
