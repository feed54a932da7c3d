"""Multipliers out of sums of votes. Pure.

A passage's boost for a question grows with the votes for it minus those against it, up to a bound. A document's share
of good votes is smoothed by a Beta prior (Evan Miller, "How not to sort by average rating", 2009, gives the reason) and
compared with the share over all documents. So a document that is shown often, and therefore rated often, gets nothing
for that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from feedback.ranking.votes import Sums

QUERY_BOUND = math.log(2.0)  # multipliers 0.5 … 2.0
DOCUMENT_BOUND = math.log(1.25)  # 0.8 … 1.25
FULL_VOTES = 2.0  # votes for a passage minus votes against it at which its boost reaches the bound
DOCUMENT_PRIOR = 30.0  # votes of the mean share that are added to each document's own
MIN_DOCUMENT_RATERS = 3
MAX_BOOSTS = 20_000  # of passages, in a revision; the strongest stay
LEAST_EFFECT = 0.03  # a passage's multiplier within 1 ± this is none …
LEAST_DOCUMENT_EFFECT = 0.005  # … and a document's


class QueryBoost(NamedTuple):
    """For one question and one passage. multiplier: 0.5 … 2.0."""

    question: int
    passage: int
    multiplier: float
    raters_up: int
    raters_down: int


class DocumentBoost(NamedTuple):
    """Whatever is asked. multiplier: 0.8 … 1.25."""

    document: UUID
    multiplier: float
    raters_up: int
    raters_down: int


def query_boosts(sums: Mapping[tuple[int, int], Sums]) -> list[QueryBoost]:
    """By question and passage; at most MAX_BOOSTS."""
    boosts = [
        QueryBoost(question, passage, multiplier, own.raters_up, own.raters_down)
        for (question, passage), own in sums.items()
        if noticeable(multiplier := query_multiplier(own.up, own.down))
    ]
    boosts.sort(key=lambda boost: -abs(math.log(boost.multiplier)))
    return sorted(boosts[:MAX_BOOSTS])


def query_multiplier(up: float, down: float) -> float:
    """2^((up − down) / FULL_VOTES), within 0.5 … 2.0; rounded to three decimals."""
    net = (up - down) / FULL_VOTES
    return round(math.exp(QUERY_BOUND * max(-1.0, min(1.0, net))), 3)


def document_boosts(sums: Mapping[UUID, Sums]) -> list[DocumentBoost]:
    """By document."""
    up = sum(own.up for own in sums.values())
    down = sum(own.down for own in sums.values())
    mean = (up + 1.0) / (up + down + 2.0)  # with few votes near 0.5
    boosts = [
        DocumentBoost(document, multiplier, own.raters_up, own.raters_down)
        for document, own in sums.items()
        if own.raters_up + own.raters_down >= MIN_DOCUMENT_RATERS
        and noticeable(
            multiplier := document_multiplier(own.up, own.down, mean=mean), LEAST_DOCUMENT_EFFECT
        )
    ]
    return sorted(boosts)


def document_multiplier(up: float, down: float, *, mean: float) -> float:
    """0.8 … 1.25, rounded to three decimals. mean: 0..1, the share of good votes over all documents, which gives 1."""
    share = (up + DOCUMENT_PRIOR * mean) / (up + down + DOCUMENT_PRIOR)
    room = 1.0 - mean if share >= mean else mean
    return round(math.exp(DOCUMENT_BOUND * max(-1.0, min(1.0, (share - mean) / room))), 3)


def noticeable(multiplier: float, least_effect: float = LEAST_EFFECT) -> bool:
    return abs(math.log(multiplier)) >= math.log1p(least_effect)


def digest(queries: Iterable[QueryBoost], documents: Iterable[DocumentBoost]) -> str:
    """The same for the same boosts, in whatever order: 32 hexadecimal digits. Multipliers count to two decimals, so
    that votes which fade by a day make no new revision."""
    rows = [f"{boost.question} {boost.passage} {boost.multiplier:.2f}" for boost in queries]
    rows += [f"{boost.document} {boost.multiplier:.2f}" for boost in documents]
    return hashlib.blake2b("\n".join(sorted(rows)).encode(), digest_size=16).hexdigest()
