"""How an answer was found, in three lines at most, for everybody: what was searched, what was done about it, and what
could not be done. The decision path says the same step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.labels import STEPS, label

Data = Mapping[str, Any]


def found_lines(answer: Data) -> list[str]:
    """Of an answer's `message_data`, in the active language."""
    if answer.get("curated"):
        return [_("A checked answer")]
    lines = (" · ".join(filter(None, parts)) for parts in (_searched(answer), _did(answer), [_fell_back(answer)]))
    return [capfirst(line) for line in lines if line]


def _searched(answer: Data) -> Iterable[str]:
    path = answer["decision_path"]
    if whole := _last(path, "read", "total"):
        yield _("read {read} of {total} sections").format(**whole)
    elif searches := _details(path, "retrieve"):
        yield _documents(max(search.get("documents") or 0 for search in searches))
        if _details(path, "web_search"):
            yield _("and the web")
        yield _fitting(answer)
    elif answer["decision"] == "ANSWER" and not answer["sources"]:
        yield _("answered without a search")
        return
    yield _outcome(answer)


def _documents(count: int) -> str:
    if not count:
        return _("searched the documents")
    return ngettext("searched {count} document", "searched {count} documents", count).format(count=f"{count:,}")


def _fitting(answer: Data) -> str:
    """Those that the model named or graded as fitting, else those that it was given to read."""
    path = answer["decision_path"]
    graded = _last(path, "pass_count") or {}
    if fitting := len((_last(path, "named") or {}).get("named") or ()) or graded.get("pass_count"):
        return ngettext("{count} passage fits", "{count} passages fit", fitting).format(count=fitting)
    read = (_last(path, "given", "found") or {}).get("given") or len(answer["sources"])
    return ngettext("{count} passage read", "{count} passages read", read).format(count=read) if read else ""


def _outcome(answer: Data) -> str:
    cited = sum(source["cited"] for source in answer["sources"])
    quoted = not answer["model"] and answer["decision"] == "ANSWER"
    match answer["status"], answer["decision"]:
        case (("complete" | "cut" | "stopped"), _) if cited and quoted:
            return ngettext("quoted from {count}", "quoted from {count}", cited).format(count=cited)
        case (("complete" | "cut" | "stopped"), "ANSWER") if cited:
            return ngettext("answered from {count}", "answered from {count}", cited).format(count=cited)
        case "complete", "CLARIFY":
            return _("several answers fit, so it asks which is meant")
        case "complete", "NO_ANSWER" if answer["model"] and not _last(answer["decision_path"], "read", "total"):
            return _("none of them answers the question")
    return ""


def _did(answer: Data) -> Iterable[str]:
    path = answer["decision_path"]
    searches = _details(path, "retrieve")
    if _last(path, "verdict", "by_model") and any(one.get("by_model") for one in _details(path, "assess")):
        yield _("asked the model whether they answer")
    if len(searches) > 1:
        yield _("looked again in other words")
    if graded := _last(path, "total_count"):
        yield ngettext("graded {count} document", "graded {count} documents", graded["total_count"]).format(
            count=graded["total_count"]
        )
    if _details(path, "reflect"):
        yield _("reviewed its own draft")
    if moved := max((boosted.get("rated") or 0 for boosted in _details(path, "boost")), default=0):
        yield ngettext("ratings moved {count} passage", "ratings moved {count} passages", moved).format(count=moved)


def _fell_back(answer: Data) -> str:
    """Without a model the page says so once, above."""
    fallbacks = [step for step in answer["degraded"] if answer["model"]]
    if not fallbacks:
        return ""
    return _("not everything worked: {step} ({reason})").format(
        step=label(STEPS, fallbacks[0]["step"]), reason=fallbacks[0]["reason"]
    )


def _details(path: Iterable[Data], name: str) -> list[Data]:
    """Of the steps of this name that did something."""
    return [step["detail"] for step in path if step["name"] == name and step["status"] != "skipped"]


def _last(path: Iterable[Data], *fields: str) -> Data | None:
    """The last details that hold these fields."""
    holding = [step["detail"] for step in path if all(field in step["detail"] for field in fields)]
    return holding[-1] if holding else None
