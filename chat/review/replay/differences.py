"""How two answers to one question differ. Both are `message_data`; plain data in, plain data out.

The answers' texts are compared word by word (Chinese by character); a long pair line by line, so that the work stays
bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

MAX_WORDS = 1_500  # of either text, compared one by one; beyond it lines are
STEP = ("seq", "status", "duration_ms", "summary")
PLAIN = ("status", "decision", "workflow", "model")
FIGURES = (
    "llm_calls",
    "llm_rounds",
    "prompt_tokens",
    "completion_tokens",
    "first_token_ms",
    "total_ms",
)
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|\s+|.", re.DOTALL)
Data = Mapping[str, Any]


def answer_differences(original: Data, replay: Data) -> list[dict[str, Any]]:
    """Each entry has a `kind`; the rest depends on it.

    decision, status, workflow, model: `original`, `replay`. answer: `parts` of `text_differences`. source: see
    `source_differences`. step: see `step_differences`. usage: `figure`, `original`, `replay`.
    """
    found: list[dict[str, Any]] = [
        {"kind": name, "original": original.get(name) or "", "replay": replay.get(name) or ""}
        for name in PLAIN
        if (original.get(name) or "") != (replay.get(name) or "")
    ]
    if original["answer"] != replay["answer"]:
        found.append(
            {"kind": "answer", "parts": text_differences(original["answer"], replay["answer"])}
        )
    found += [row for row in source_differences(original, replay) if row["changed"]]
    found += [row for row in step_differences(original, replay) if row["changed"]]
    return found + [row for row in figures(original, replay) if row["original"] != row["replay"]]


def text_differences(before: str, after: str) -> list[dict[str, str]]:
    """Parts of both texts in reading order, {"op": same, removed or added, "text"}: put together, same and removed are
    `before`, same and added `after`."""
    old = _WORD.findall(before)
    new = _WORD.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        old = before.splitlines(keepends=True)
        new = after.splitlines(keepends=True)
    parts: list[dict[str, str]] = []
    for op, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pieces = (
            [("same", old[a:b])] if op == "equal" else [("removed", old[a:b]), ("added", new[c:d])]
        )
        parts += [{"op": name, "text": "".join(words)} for name, words in pieces if words]
    return parts


def source_differences(original: Data, replay: Data) -> list[dict[str, Any]]:
    """One row for each passage of either answer, in the replay's order, then those that it lost.

    in: both, original or replay. `ranks`: its place in each, from 1, or None. moved: places up (positive) or down.
    changed: its place, whether it is cited, or that it is there at all.
    """
    sides = [
        {source["chunk_id"]: source for source in data["sources"]} for data in (original, replay)
    ]
    places = [{chunk_id: place for place, chunk_id in enumerate(side, 1)} for side in sides]
    rows = []
    for chunk_id in dict.fromkeys([*sides[1], *sides[0]]):
        source = sides[1].get(chunk_id) or sides[0][chunk_id]
        before, after = (side.get(chunk_id) for side in places)
        cited = [bool(side.get(chunk_id, {}).get("cited")) for side in sides]
        rows.append(
            {
                "kind": "source",
                **{
                    name: source[name]
                    for name in ("chunk_id", "document_id", "title", "heading", "page")
                },
                "in": "both" if before and after else "replay" if after else "original",
                "ranks": {"original": before, "replay": after},
                "moved": before - after if before and after else 0,
                "cited": {"original": cited[0], "replay": cited[1]},
                "changed": before != after or cited[0] != cited[1],
            }
        )
    return rows


def step_differences(original: Data, replay: Data) -> list[dict[str, Any]]:
    """Both paths side by side, a row for each step of either: `original` and `replay` are {"seq", "status",
    "duration_ms", "summary"} or None. changed: it is in one path only, or ended otherwise."""
    old, new = (list(data.get("decision_path") or ()) for data in (original, replay))
    names = [[step["name"] for step in side] for side in (old, new)]
    pairs: list[tuple[Data | None, Data | None]] = []
    for op, a, b, c, d in SequenceMatcher(None, names[0], names[1], autojunk=False).get_opcodes():
        if op == "equal":
            pairs += zip(old[a:b], new[c:d], strict=True)
        else:
            pairs += [*((step, None) for step in old[a:b]), *((None, step) for step in new[c:d])]
    return [
        {
            "kind": "step",
            "name": (after or before or {})["name"],
            "original": {name: before[name] for name in STEP} if before else None,
            "replay": {name: after[name] for name in STEP} if after else None,
            "changed": not before or not after or before["status"] != after["status"],
        }
        for before, after in pairs
    ]


def figures(original: Data, replay: Data) -> list[dict[str, Any]]:
    """What each of them cost."""
    old, new = (data.get("usage") or {} for data in (original, replay))
    return [
        {"kind": "usage", "figure": name, "original": old.get(name), "replay": new.get(name)}
        for name in FIGURES
    ]


def is_supported(data: Data) -> bool:
    """Whether it answers, and its passages support more of its checked sentences than they do not."""
    if data["decision"] != "ANSWER":
        return False
    checked = [sentence["supported"] for sentence in data["grounding"] or ()]
    yes = checked.count(True)
    no = checked.count(False)
    return yes > no or (yes == no == 0 and any(source["cited"] for source in data["sources"]))
