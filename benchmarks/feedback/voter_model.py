"""What generated voters' votes are found to weigh, for sites of some kinds of voters and 2 to 16 votes an item.

    python -m benchmarks.voter_model [--json]

60 voters, 300 items (a passage for a question), every other one good; means of four sites. Weights are of up-votes and
of down-votes, 0..1; the last column is what they would be if the voters' chances were known.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time

import numpy as np

from benchmarks.support.tables import show
from feedback.ranking.rater_reliability import Verdicts, fit_site, fit_voters, vote_weights

VOTERS, ITEMS, SITES = 60, 300, 4
Chances = Callable[[int], tuple[float, float]]  # of a voter: of an up-vote on a good item, and on a bad one


def wrong(error: float) -> Chances:
    return lambda _: (1.0 - error, error)


def up(share: float) -> Chances:
    return lambda _: (share, share)


def mixed(voter: int) -> tuple[float, float]:
    """40 of 60 are wrong one time in five; 5 always say up, 5 always down, 5 the contrary, 5 guess."""
    if voter < 40:
        return 0.8, 0.2
    return {8: (1.0, 1.0), 9: (0.0, 0.0), 10: (0.1, 0.9), 11: (0.5, 0.5)}[voter // 5]


EVERYBODY = {"all": range(VOTERS)}
OF_MIXED = {
    "wrong 20 %": range(40), "always up": range(40, 45), "always down": range(45, 50), "contrary": range(50, 55),
    "guess": range(55, 60),
}  # fmt: skip
KINDS: dict[str, tuple[Chances, dict[str, range]]] = {
    **{f"wrong {error:.0%}": (wrong(error), EVERYBODY) for error in (0.1, 0.2, 0.3, 0.4, 0.45)},
    **{f"random, {share:.0%} up": (up(share), EVERYBODY) for share in (0.5, 0.6, 0.8, 0.9)},
    "misses bad ones (95 %, 40 %)": (lambda _: (0.95, 0.6), EVERYBODY),
    "mixed": (mixed, OF_MIXED),
}


def generated(chances: Chances, votes_an_item: int, seed: int) -> Verdicts:
    draw = np.random.default_rng(seed)
    good = draw.random(ITEMS) < 0.5
    item = np.repeat(np.arange(ITEMS), votes_an_item)
    voter = np.concatenate([draw.choice(VOTERS, votes_an_item, replace=False) for _ in range(ITEMS)])
    table = np.asarray([chances(one) for one in range(VOTERS)])
    said_up = draw.random(len(item)) < np.where(good[item], table[voter, 0], table[voter, 1])
    return Verdicts(
        item=item, voter=voter, up=said_up.astype(np.float64), cohort=voter, share=np.ones(len(item)),
        normalized_score=np.full(len(item), np.nan),
    )  # fmt: skip


def rows_of(name: str, votes_an_item: int) -> list[dict[str, object]]:
    chances, parts = KINDS[name]
    found = []
    for seed in range(SITES):
        verdicts = generated(chances, votes_an_item, seed)
        site = fit_site(verdicts)
        found.append(fit_voters(verdicts, site, voters=VOTERS).weights(site))
    weights = np.mean(found, axis=0)
    rows: list[dict[str, object]] = []
    for part, voters in parts.items():
        exact = np.clip(np.asarray([chances(one) for one in voters]), 0.02, 0.98)
        known = vote_weights(exact[:, 0], exact[:, 1])
        rows.append(
            {
                "voters": name if part == "all" else f"{name}: {part}",
                "votes an item": votes_an_item,
                "up": float(weights[0, list(voters)].mean()),
                "down": float(weights[1, list(voters)].mean()),
                "if known": f"{known[0].mean():.2f}, {known[1].mean():.2f}",
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    begun = process_time()
    rows = [row for name in KINDS for votes_an_item in (2, 4, 8, 16) for row in rows_of(name, votes_an_item)]
    show(rows, as_json=options.json, notes=[f"{process_time() - begun:.1f} s of processor time"])


if __name__ == "__main__":
    main()
