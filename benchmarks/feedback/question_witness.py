"""Do two questions want the same answer? By words alone, and with a model's word, which is measured first.

    python -m benchmarks.question_witness MODEL@http://127.0.0.1:11434 [--json]

The server has to tell how probable a word was (Ollama from 0.12.11 on). The model is asked about the pairs that it is
measured by in each round, and then about those of `data/question_pairs/report.jsonl` that words leave open, of other
domains. Reported: of the pairs that want the same answer, and of those that do not, the share that is taken to want the
same (probability >= .5), and the time of a question to the model.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence

from tqdm import tqdm

from benchmarks.feedback.question_pairs import Pair, read_pairs, shares
from benchmarks.support.tables import show
from feedback.ranking.question_witness import is_open
from feedback.ranking.same_question import shipped_model
from feedback.rounds.same_answer import witness_ask, yes_same_answer
from ragsite.core.rag_settings import OllamaSettings
from retrieval.errors import ModelOutputError
from retrieval.providers.registry import ModelRegistry

MEASURED_S = 600.0


async def probabilities(model: str, url: str, pairs: Sequence[Pair]) -> tuple[list[float], str]:
    """Of each pair by words and the model together, and a note on the model. Raises ModelError; SystemExit where the
    server does not tell how probable a word was."""
    registry = ModelRegistry(OllamaSettings(base_url=url, chat_model=model, fast_model=model))
    took = []
    try:
        chat = await registry.chat("fast")
        if not await chat.tells_probabilities():
            raise SystemExit(f"{url} does not tell how probable a word was (Ollama does from 0.12.11 on).")
        witness = await witness_ask(chat, until=time.monotonic() + MEASURED_S)
        together = by_words(pairs)
        asked = [row for row, same in enumerate(together) if witness and is_open(same)]
        for row in tqdm(asked, desc="asking", leave=False):
            began = time.perf_counter()
            try:
                yes = await yes_same_answer(chat, pairs[row].a, pairs[row].b)
            except ModelOutputError:  # neither yes nor no: words decide, as in a round
                continue
            took.append(time.perf_counter() - began)
            if witness is not None:
                together[row] = witness.together(together[row], yes)
    finally:
        await registry.close()
    worth = "nothing" if witness is None else f"{witness.slope:.2f} a unit of log-odds, middle {witness.middle:.2f}"
    each = f", {statistics.median(took):.2f} s each" if took else ""
    return together, f"{model}: worth {worth}; asked about {len(took)} of {len(pairs)} pairs{each}"


def by_words(pairs: Sequence[Pair]) -> list[float]:
    model = shipped_model()
    return [model.probability(pair.a, pair.b) for pair in pairs]


def rows(pairs: Sequence[Pair], by: Mapping[str, Sequence[float]]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for language in ("all", *dict.fromkeys(pair.language for pair in pairs)):
        for name, likely in by.items():
            own = [row for row in zip(pairs, likely, strict=True) if language in ("all", row[0].language)]
            found.append({"of": language, "by": name, **shares(own)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL@URL")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    model, _, url = options.model.partition("@")
    pairs = read_pairs("report")
    together, note = asyncio.run(probabilities(model, url, pairs))
    show(rows(pairs, {"words": by_words(pairs), "words and model": together}), as_json=options.json, notes=[note])


if __name__ == "__main__":
    main()
