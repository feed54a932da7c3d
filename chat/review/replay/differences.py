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
FIGURES = ("llm_calls", "llm_rounds", "prompt_tokens", "completion_tokens", "first_token_ms", "total_ms")
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|\s+|.", re.DOTALL)
Data = Mapping[str, Any]


def answer_differences(original: Data, replay: Data) -> list[dict[str, Any]]:
    """Each entry has a `kind`; the rest depends on it.

    decision, status, workflow, model: `original`, `replay`. answer: `parts` of {"op": same, removed or added, "text"}.
    source: see `source_differences`. step: see `step_differences`. usage: `figure`, `original`, `replay`.
    """
    found: list[dict[str, Any]] = [
        {"kind": name, "original": original.get(name) or "", "replay": replay.get(name) or ""}
        for name in PLAIN
        if (original.get(name) or "") != (replay.get(name) or "")
    ]
    if (before := original.get("answer") or "") != (after := replay.get("answer") or ""):
        found.append({"kind": "answer", "parts": text_differences(before, after)})
    found += [row for row in source_differences(original, replay) if row["changed"]]
    found += [row for row in step_differences(original, replay) if row["changed"]]
    old, new = (data.get("usage") or {} for data in (original, replay))
    found += [
        {"kind": "usage", "figure": name, "original": old.get(name), "replay": new.get(name)}
        for name in FIGURES
        if old.get(name) != new.get(name)
    ]
    return found


def text_differences(before: str, after: str) -> list[dict[str, str]]:
    """The parts of both texts in reading order: put together, same and removed are `before`, same and added `after`."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    runs: list[tuple[bool, str, str]] = []  # whether it is the same in both, and the texts
    for op, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same, removed, added = op == "equal", "".join(old[a:b]), "".join(new[c:d])
        # Words that were replaced one after the other are read as one change, the spaces between them included.
        if runs and not runs[-1][0] and (not same or (not removed.strip() and b < len(old) and d < len(new))):
            runs[-1] = (False, runs[-1][1] + removed, runs[-1][2] + added)
        else:
            runs.append((same, removed, added))
    parts: list[dict[str, str]] = []
    for same, removed, added in runs:
        pieces = [("same", removed)] if same else [("removed", removed), ("added", added)]
        parts += [{"op": op, "text": text} for op, text in pieces if text]
    return parts


def source_differences(original: Data, replay: Data) -> list[dict[str, Any]]:
    """One row for each passage of either answer, in the replay's order, then those that it lost.

    in: both, original or replay. `ranks`: its place in each, from 1, or None. moved: places up (positive) or down.
    changed: its place, whether it is cited, or that it is there at all.
    """
    sides = [list(data.get("sources") or ()) for data in (original, replay)]
    places = [{source["chunk_id"]: place for place, source in enumerate(side, 1)} for side in sides]
    by_chunk = [{source["chunk_id"]: source for source in side} for side in sides]
    rows = []
    for chunk_id in dict.fromkeys([*places[1], *places[0]]):
        here = [side.get(chunk_id) for side in by_chunk]
        source = here[1] or here[0]
        assert source is not None
        before, after = (side.get(chunk_id) for side in places)
        where = "both" if before and after else "replay" if after else "original"
        cited = [bool(side and side["cited"]) for side in here]
        rows.append(
            {
                "kind": "source",
                "chunk_id": chunk_id,
                "document_id": source["document_id"],
                "title": source["title"],
                "heading": source.get("heading") or "",
                "page": source.get("page"),
                "in": where,
                "ranks": {"original": before, "replay": after},
                "moved": before - after if before and after else 0,
                "cited": {"original": cited[0], "replay": cited[1]},
                "changed": where != "both" or before != after or cited[0] != cited[1],
            }
        )
    return rows


def step_differences(original: Data, replay: Data) -> list[dict[str, Any]]:
    """Both paths side by side, a row for each step of either: `original` and `replay` are {"seq", "status",
    "duration_ms", "summary"} or None. changed: it is in one path only, or ended otherwise."""
    sides = [list(data.get("decision_path") or ()) for data in (original, replay)]
    names = [[step["name"] for step in side] for side in sides]
    rows = []
    for op, a, b, c, d in SequenceMatcher(None, names[0], names[1], autojunk=False).get_opcodes():
        if op == "equal":
            rows += [_step(old, new) for old, new in zip(sides[0][a:b], sides[1][c:d], strict=True)]
        else:
            rows += [_step(old, None) for old in sides[0][a:b]]
            rows += [_step(None, new) for new in sides[1][c:d]]
    return rows


def _step(old: Data | None, new: Data | None) -> dict[str, Any]:
    shown = [{name: step[name] for name in STEP} if step else None for step in (old, new)]
    return {
        "kind": "step",
        "name": (new or old or {})["name"],
        "original": shown[0],
        "replay": shown[1],
        "changed": old is None or new is None or old["status"] != new["status"],
    }


def is_supported(data: Data) -> bool:
    """Whether it answers, and its passages support more of its checked sentences than they do not."""
    if data.get("decision") != "ANSWER":
        return False
    checked = [sentence.get("supported") for sentence in data.get("grounding") or ()]
    yes, no = checked.count(True), checked.count(False)
    return yes > no or (yes == no == 0 and any(source["cited"] for source in data.get("sources") or ()))
