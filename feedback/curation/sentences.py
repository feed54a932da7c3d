"""What a boost rests on and what the guard measured, in plain sentences for staff, in the language of who reads them.

Each is a whole sentence of the catalogues, chosen by what is to be said: other languages have other words for "nobody",
and put a number elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

from ragsite.core.localized import said, said_count

NEITHER = 0.005  # a multiplier that differs less from 1 neither lifts nor lowers
FULL = 0.95  # a vote that weighs as much is not worth a remark
Way = Literal["lifted", "lowered", "neither"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LightVotes:
    """Votes that weigh less than a full one for the same reason. weight: 0..1, the mean."""

    count: int
    weight: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VotesBehind:
    """Who voted on one passage for one question: people for and against, in how many wordings it was asked, and whose
    votes weigh less."""

    up: int
    down: int
    wordings: int = 1
    light: Sequence[LightVotes] = ()


def boost_sentence(multiplier: float, votes: VotesBehind, *, of_document: bool = False) -> str:
    """E.g. "Lifted because 3 people found this useful for the same question. It was asked in 2 wordings. One vote
    counts 0.3: new account." multiplier: of the boost. of_document: whatever is asked.
    """
    if of_document:
        return _of_document(votes.up + votes.down, lifted=multiplier > 1.0)
    way: Way = "lifted" if multiplier >= 1.0 else "lowered"
    if abs(multiplier - 1.0) < NEITHER:
        way = "neither"
    sentences = [_of_votes(way, votes.up, votes.down)]
    if votes.up or votes.down:
        if votes.wordings > 1:
            sentences.append(said("It was asked in {count} wordings.", count=votes.wordings))
        sentences += [_light(light) for light in votes.light if light.weight < FULL]
    return paragraph(sentences)


def paragraph(sentences: Sequence[str]) -> str:
    """One after the other; Chinese puts nothing between them."""
    return reduce(lambda before, after: said("{before} {after}", before=before, after=after), sentences)


def _of_document(people: int, *, lifted: bool) -> str:
    if lifted:
        return said_count(
            "Lifted because {count} person rated this document, better than others are rated.",
            "Lifted because {count} people rated this document, better than others are rated.",
            people,
        )
    return said_count(
        "Lowered because {count} person rated this document, worse than others are rated.",
        "Lowered because {count} people rated this document, worse than others are rated.",
        people,
    )


def _of_votes(way: Way, up: int, down: int) -> str:
    if up and down:
        return _of_both(way, up, down)
    if up:
        return _of_praise(way, up)
    if down:
        return _of_blame(way, down)
    return {
        "lifted": said("Lifted because of votes on questions that ask the same."),
        "lowered": said("Lowered because of votes on questions that ask the same."),
        "neither": said("Neither lifted nor lowered: nobody voted."),
    }[way]


def _of_both(way: Way, up: int, down: int) -> str:
    match way:
        case "lifted":
            return said("Lifted: for the same question {up} found this useful, {down} did not.", up=up, down=down)
        case "lowered":
            return said("Lowered: for the same question {down} did not find this useful, {up} did.", up=up, down=down)
    return said(
        "Neither lifted nor lowered: for the same question {up} found this useful, {down} did not.", up=up, down=down
    )


def _of_praise(way: Way, up: int) -> str:
    match way:
        case "lifted":
            return said_count(
                "Lifted because {count} person found this useful for the same question.",
                "Lifted because {count} people found this useful for the same question.",
                up,
            )
        case "lowered":
            return said_count(
                "Lowered, though {count} person found this useful for the same question.",
                "Lowered, though {count} people found this useful for the same question.",
                up,
            )
    return said_count(
        "Neither lifted nor lowered: {count} person found this useful for the same question.",
        "Neither lifted nor lowered: {count} people found this useful for the same question.",
        up,
    )


def _of_blame(way: Way, down: int) -> str:
    match way:
        case "lifted":
            return said_count(
                "Lifted, though {count} person did not find this useful for the same question.",
                "Lifted, though {count} people did not find this useful for the same question.",
                down,
            )
        case "lowered":
            return said_count(
                "Lowered because {count} person did not find this useful for the same question.",
                "Lowered because {count} people did not find this useful for the same question.",
                down,
            )
    return said_count(
        "Neither lifted nor lowered: {count} person did not find this useful for the same question.",
        "Neither lifted nor lowered: {count} people did not find this useful for the same question.",
        down,
    )


def _light(light: LightVotes) -> str:
    weight, reason = f"{light.weight:.1f}", _without_stop(light.reason)
    if reason:
        return said_count(
            "One vote counts {weight}: {reason}.",
            "{count} votes count {weight} each: {reason}.",
            light.count,
            weight=weight,
            reason=reason,
        )
    return said_count(
        "One vote counts {weight}.", "{count} votes count {weight} each.", light.count, weight=weight
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ the guard
def guard_sentences(guard: Mapping[str, Any], *, verdict: bool = True) -> list[str]:
    """guard: `Revision.measured`, also of an earlier version. Empty where nothing was measured. verdict: whether it
    passes or why it is held, as the last sentence."""
    if not guard:
        return []
    if guard.get("outcome") == "not_measured" or guard.get("not_measured"):
        looked = [_clause(guard["reason"])] if guard.get("reason") else []
        return [*looked, said("It is held until it can be measured; the next round tries again.")]
    sentences = [*_golden(guard), *_recent(guard), *_contrast(guard)]
    sentences += [_clause(note) for note in guard.get("notes", ())]
    if not verdict:
        return sentences
    if guard.get("reason"):
        sentences.append(said("Held because {reason}.", reason=_without_stop(guard["reason"])))
    else:
        sentences.append(said("The guard lets it pass."))
    return sentences


def _golden(guard: Mapping[str, Any]) -> list[str]:
    count = guard.get("golden", 0)
    if not count:
        return []
    worse = guard.get("worse_count", len(guard.get("worse", ())))
    if worse:
        sentences = [
            said_count(
                "The golden question got worse.", "{worse} of {count} golden questions got worse.", count, worse=worse
            )
        ]
    else:
        sentences = [
            said_count(
                "The golden question did not get worse.", "None of {count} golden questions got worse.", count
            )
        ]  # fmt: skip
    if guard.get("ndcg_after") is None:
        return [*sentences, said_count("No boost is near it.", "No boost is near any of them.", count)]
    sentences.append(_ndcg(guard["ndcg_before"], guard["ndcg_after"], guard.get("ndcg_without")))
    if guard.get("drop") and guard.get("drop_interval"):
        sentences.append(_against_live(guard["drop"], guard["drop_interval"]))
    if guard.get("drop_without") and guard.get("drop_without_interval"):
        sentences.append(_against_none(guard["drop_without"], guard["drop_without_interval"]))
    return sentences


def _ndcg(before: float, after: float, without: float | None) -> str:
    if without is None:
        return said(
            "nDCG@10 of those near a boost is {before} with the live revision and {after} with this one.",
            before=f"{before:.3f}", after=f"{after:.3f}",
        )  # fmt: skip
    return said(
        "nDCG@10 of those near a boost is {before} with the live revision, {after} with this one and {without} without "
        "any feedback.",
        before=f"{before:.3f}", after=f"{after:.3f}", without=f"{without:.3f}",
    )  # fmt: skip


def _against_live(drop: float, interval: Sequence[float]) -> str:
    if drop > 0:
        return said(
            "Against the live revision all golden questions together lose {size} (90% interval {low} to {high}).",
            **_sizes(drop, interval),
        )
    return said(
        "Against the live revision all golden questions together gain {size} (90% interval {low} to {high}).",
        **_sizes(drop, interval),
    )


def _against_none(drop: float, interval: Sequence[float]) -> str:
    if drop > 0:
        return said(
            "Against no feedback all golden questions together lose {size} (90% interval {low} to {high}).",
            **_sizes(drop, interval),
        )
    return said(
        "Against no feedback all golden questions together gain {size} (90% interval {low} to {high}).",
        **_sizes(drop, interval),
    )


def _sizes(drop: float, interval: Sequence[float]) -> dict[str, str]:
    """Of a gain without their signs, and so in the other order."""
    low, high = interval if drop > 0 else (-interval[1], -interval[0])
    return {"size": f"{abs(drop):.4f}", "low": f"{low:.4f}", "high": f"{high:.4f}"}


def _recent(guard: Mapping[str, Any]) -> list[str]:
    count, churn = guard.get("recent", 0), guard.get("churn")
    if not count or churn is None:
        return []
    sentences = [
        said_count(
            "Of the ten top results of {count} recent question {share} change.",
            "Of the ten top results of {count} recent questions {share} change.",
            count,
            share=f"{churn:.0%}",
        )
    ]
    if near := guard.get("first_measured"):
        sentences.append(_first_results(near, guard.get("first_changed", 0)))
    return sentences


def _first_results(near: int, changed: int) -> str:
    if not changed:
        return said_count(
            "The one near a changed boost keeps its first result.",
            "All {count} near a changed boost keep their first result.",
            near,
        )
    if near == 1:
        return said("The one near a changed boost gets another first result.")
    return said_count(
        "Of the {near} near a changed boost {count} gets another first result.",
        "Of the {near} near a changed boost {count} get another first result.",
        changed,
        near=near,
    )


def _contrast(guard: Mapping[str, Any]) -> list[str]:
    count, moved = guard.get("contrast", 0), guard.get("moved_count", 0)
    if not count:
        return []
    if not moved:
        return [
            said_count(
                "The contrast question (a rated one changed so that it asks something else) is not ranked otherwise by "
                "the votes.",
                "None of {count} contrast questions (rated ones changed so that they ask something else) is ranked "
                "otherwise by the votes.",
                count,
            )
        ]
    return [
        said_count(
            "Of {total} contrast questions (rated ones changed so that they ask something else) {count} is ranked "
            "otherwise by the votes.",
            "Of {total} contrast questions (rated ones changed so that they ask something else) {count} are ranked "
            "otherwise by the votes.",
            moved,
            total=count,
        )
    ]


def _clause(text: str) -> str:
    """A part of a sentence that was kept without its beginning and end, as one of its own."""
    plain = _without_stop(text)
    return said("{clause}.", clause=plain[:1].upper() + plain[1:])


def _without_stop(text: str) -> str:
    return text.rstrip(".。")
