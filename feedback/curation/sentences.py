"""What a boost rests on and what the guard measured, in plain sentences for staff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NEITHER = 0.005  # a multiplier that differs less from 1 neither lifts nor lowers
FULL = 0.95  # a vote that weighs as much is not worth a remark


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


def people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def boost_sentence(multiplier: float, votes: VotesBehind, *, of_document: bool = False) -> str:
    """E.g. "Lifted because 3 people found this useful for the same question (asked in 2 wordings); one vote of a new
    account counts 0.3." multiplier: of the boost. of_document: whatever is asked.
    """
    if of_document:
        way = "Lifted" if multiplier > 1.0 else "Lowered"
        other = "better" if multiplier > 1.0 else "worse"
        return f"{way} because {people(votes.up + votes.down)} rated this document, {other} than others are rated."
    lifted = multiplier >= 1.0
    way = "Lifted because" if lifted else "Lowered because"
    if abs(multiplier - 1.0) < NEITHER:
        way = "Neither lifted nor lowered:"
    good = f"{people(votes.up)} found this useful" if votes.up else ""
    bad = f"{people(votes.down)} did not find this useful" if votes.down else ""
    voted = " and ".join(filter(None, (good, bad) if lifted else (bad, good)))
    if not voted:
        return f"{way} of votes on questions that ask the same." if way.endswith("because") else f"{way} nobody voted."
    wordings = f" (asked in {votes.wordings} wordings)" if votes.wordings > 1 else ""
    remarks = "".join(f"; {_light(light)}" for light in votes.light if light.weight < FULL)
    return f"{way} {voted} for the same question{wordings}{remarks}."


def _light(light: LightVotes) -> str:
    count, counts = ("one vote", "counts") if light.count == 1 else (f"{light.count} votes", "count")
    reason = f" ({light.reason.rstrip('.')})" if light.reason else ""
    return f"{count} {counts} {light.weight:.1f}{' each' if light.count > 1 else ''}{reason}"


# ------------------------------------------------------------------------------------------------ the guard
def guard_sentences(guard: Mapping[str, Any], *, verdict: bool = True) -> list[str]:
    """guard: a revision's stored report, also of an earlier version. Empty where nothing was measured. verdict: whether
    it passes or why it is held, as the last sentence."""
    if not guard:
        return []
    if guard.get("outcome") == "not_measured" or guard.get("not_measured"):
        looked = [_upper(f"{guard['reason']}.")] if guard.get("reason") else []
        return [*looked, "It is held until it can be measured; the next round tries again."]
    sentences = [*_golden(guard), *_recent(guard), *_contrast(guard)]
    sentences += [_upper(f"{note}.") for note in guard.get("notes", ())]
    if not verdict:
        return sentences
    if guard.get("reason"):
        sentences.append(f"Held because {guard['reason']}.")
    else:
        sentences.append("The guard lets it pass.")
    return sentences


def _golden(guard: Mapping[str, Any]) -> list[str]:
    count = guard.get("golden", 0)
    if not count:
        return []
    worse = guard.get("worse_count", len(guard.get("worse", ())))
    if count == 1:
        found = "The golden question got worse" if worse else "The golden question did not get worse"
    else:
        found = f"Of {count} golden questions {worse or 'none'} got worse"
    if guard.get("ndcg_after") is None:
        return [f"{found}; no boost is near {'it' if count == 1 else 'any of them'}."]
    without = guard.get("ndcg_without")
    beside = "" if without is None else f", without any feedback {without:.3f}"
    sentences = [
        f"{found}; nDCG@10 of those near a boost is {guard['ndcg_before']:.3f} with the live revision and"
        f" {guard['ndcg_after']:.3f} with this one{beside}."
    ]
    for name, other in (("drop", "the live revision"), ("drop_without", "no feedback")):
        if (ends := guard.get(f"{name}_interval")) and guard.get(name):
            way = "lose" if guard[name] > 0 else "gain"
            sizes = list(ends) if guard[name] > 0 else [-end for end in reversed(ends)]
            sentences.append(
                f"Against {other} all golden questions together {way} {abs(guard[name]):.4f}"
                f" (90% interval {sizes[0]:.4f} to {sizes[1]:.4f})."
            )
    return sentences


def _recent(guard: Mapping[str, Any]) -> list[str]:
    count, churn = guard.get("recent", 0), guard.get("churn")
    if not count or churn is None:
        return []
    near = guard.get("first_measured")
    sentence = f"Of the ten top results of {_recent_questions(count)} {churn:.0%} change"
    if near:
        first = guard.get("first_changed", 0)
        sentence += f"; {first or 'none'} of the {near} near a changed boost {'get' if first > 1 else 'gets'} another"
        sentence += " first result"
    return [f"{sentence}."]


def _recent_questions(count: int) -> str:
    return "1 recent question" if count == 1 else f"{count} recent questions"


def _contrast(guard: Mapping[str, Any]) -> list[str]:
    count = guard.get("contrast", 0)
    if not count:
        return []
    moved = guard.get("moved_count", 0)
    made = "1 contrast question (a rated one changed so that it asks something else)"
    if count > 1:
        made = f"{count} contrast questions (rated ones changed so that they ask something else)"
    return [f"Of {made} {moved or 'none'} {'are' if moved > 1 else 'is'} ranked otherwise by the votes."]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
