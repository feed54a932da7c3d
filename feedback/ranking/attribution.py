"""From a rating to evidence: which passages get credit or blame for it, and how much. Pure.

- A good answer credits the passages that it cites, in proportion to how much of its text rests on them: sentences that
  were checked and are supported, by their length. A bad one debits them by its reason: `wrong_source` and `outdated`
  are about the sources, `style`, `wrong_reasoning` and `incomplete` are not; without a reason it may be either, and
  counts half. `wrong_source` debits the passages of unsupported sentences most.
- `outdated` is about the document, `wrong_source` about this question: it counts hardly at all for the document.
- A source that was rated by itself gets its evidence from that, and none from the rating of the whole answer.
- Of an answer that a second look did not confirm, praise counts half.
- NO_ANSWER, CLARIFY and failed answers give no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STRENGTH: Mapping[int, float] = {1: -1.0, 2: -0.5, 3: 0.0, 4: 0.5, 5: 1.0}
# By the tags that are about sources: share of a vote for this question, and for the document whatever is asked.
PRAISE: Mapping[str, tuple[float, float]] = {"helpful": (1.0, 0.5), "accurate": (1.0, 1.0)}
BLAME: Mapping[str, tuple[float, float]] = {
    "wrong_source": (1.0, 0.1),
    "outdated": (1.0, 1.0),
    "not_helpful": (0.5, 0.1),
}
NOT_ABOUT_SOURCES = frozenset({"style", "wrong_reasoning", "incomplete"})
# Without a reason a vote counts for this question, and little for the document: at a full share the documents that were
# asked about rose above all others, which cost other questions 0.8 points of nDCG@10.
NO_REASON_PRAISE = (1.0, 0.1)
NO_REASON_BLAME = (0.5, 0.1)
UNCONFIRMED_SHARE = (
    0.5  # of praise, where a second look found that the answer does not state what was asked
)
SOURCE_NO_REASON_BLAME = (1.0, 0.1)  # of one source: it was pointed at
# How much of a sentence's length counts, by whether its passages support it (None: it could not be checked).
BY_SUPPORT: Mapping[bool | None, float] = {True: 1.0, None: 1.0, False: 0.0}
BY_DOUBT: Mapping[bool | None, float] = {
    True: 0.25,
    None: 0.5,
    False: 1.0,
}  # of an answer that has a wrong source
_MARKERS = re.compile(r"(?:\[\d{1,3}\]\s*)+")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class CitedSource:
    marker: int
    cited: bool


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of an answer. markers: of the passages that it rests on. supported: whether they support it, None: it
    could not be checked."""

    text: str
    markers: Sequence[int]
    supported: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswer:
    """decision, status: as stored with the message. sentences: those that were checked; empty: none was."""

    text: str
    decision: str
    status: str
    sources: Sequence[CitedSource] = ()
    sentences: Sequence[CheckedSentence] = ()
    is_confirmed: bool = True  # False: a second look found that it does not state what was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingInput:
    """One user's. marker: None for the whole answer. score: 1–5."""

    id: Any
    marker: int | None
    score: int
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """What a rating gives to the source under `marker`: -1..1, never 0 in both."""

    rating_id: Any
    marker: int
    weight: float
    document_weight: float


def attribute(answer: RatedAnswer, ratings: Iterable[RatingInput]) -> list[Credit]:
    """The evidence of one user's ratings of one answer and of its sources."""
    if answer.decision != "ANSWER" or answer.status == "failed":
        return []
    every = list(ratings)
    known = {source.marker for source in answer.sources}
    rated_apart = {rating.marker for rating in every if rating.marker is not None}
    credits: list[Credit] = []
    for rating in every:
        weight, document_weight = vote(
            rating.score, rating.tags, single_source=rating.marker is not None
        )
        if weight == document_weight == 0.0:
            continue
        if weight > 0 and rating.marker is None and not answer.is_confirmed:
            weight *= UNCONFIRMED_SHARE
            document_weight *= UNCONFIRMED_SHARE
        doubted = weight < 0 and "wrong_source" in rating.tags
        shares = use_of(answer, doubted=doubted) if rating.marker is None else {rating.marker: 1.0}
        for marker, share in shares.items():
            if marker not in known or (rating.marker is None and marker in rated_apart):
                continue
            credit = Credit(
                rating_id=rating.id,
                marker=marker,
                weight=weight * share,
                document_weight=document_weight * share,
            )
            credits.append(credit)
    return credits


def vote(score: int, tags: Sequence[str], *, single_source: bool = False) -> tuple[float, float]:
    """The weight of a rating for its sources on this question, and for their documents, each -1..1; (0, 0): none.

    Tags that point the other way than the score are not counted; when all that are left are not about the sources,
    neither is the rating.
    """
    strength = STRENGTH[score]
    if strength == 0.0:
        return 0.0, 0.0
    reasons = PRAISE if strength > 0 else BLAME
    named = [reasons[tag] for tag in tags if tag in reasons]
    if named:
        share = (max(question for question, _ in named), max(document for _, document in named))
    elif NOT_ABOUT_SOURCES.intersection(tags):
        return 0.0, 0.0
    elif strength > 0:
        if "wrong_source" in tags or "outdated" in tags:
            return 0.0, 0.0  # a good answer in spite of a source, and which one is not known
        share = NO_REASON_PRAISE
    else:
        share = SOURCE_NO_REASON_BLAME if single_source else NO_REASON_BLAME
    return strength * share[0], strength * share[1]


def use_of(answer: RatedAnswer, *, doubted: bool = False) -> dict[int, float]:
    """How much of the answer depends on each cited source: shares that add up to 1; empty when it cites none.

    A checked sentence counts by its length, divided among the passages that it rests on; doubted: one that they do not
    support most of all, otherwise one that they do. In an answer that was not checked each place with markers counts
    once, divided among the markers that stand there.
    """
    cited = [source.marker for source in answer.sources if source.cited]
    for by_support in (BY_DOUBT if doubted else BY_SUPPORT, dict.fromkeys(BY_SUPPORT, 1.0)):
        rests = [
            (one.markers, _length(one.text) * by_support[one.supported]) for one in answer.sentences
        ]
        if used := _shares(rests, cited):
            return used
    places = (place.group() for place in _MARKERS.finditer(answer.text))
    return _shares(
        [([int(number) for number in _NUMBER.findall(place)], 1.0) for place in places], cited
    ) or (dict.fromkeys(cited, 1.0 / len(cited)) if cited else {})


def _length(sentence: str) -> int:
    """Characters without markers, at least 1."""
    return max(1, len(_MARKERS.sub("", sentence).strip()))


def _shares(rests: Iterable[tuple[Iterable[int], float]], cited: Sequence[int]) -> dict[int, float]:
    """rests: markers, and how much rests on them together. Returns shares that add up to 1; empty: nothing does."""
    used = dict.fromkeys(cited, 0.0)
    for numbers, amount in rests:
        markers = used.keys() & set(numbers)
        for marker in markers:
            used[marker] += amount / len(markers)
    total = sum(used.values())
    return {marker: part / total for marker, part in used.items() if part} if total else {}
