"""How an answer was found, in three lines at most, for everybody: what was searched, what was done about it, and what
could not be done. The decision path says the same step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.labels import STEPS, label
from retrieval.engine.path_details import (
    AssessDetails,
    BoostDetails,
    GradeDetails,
    OrderDetails,
    ReflectDetails,
    RetrieveDetails,
    WebSearchDetails,
    details_in,
)

Data = Mapping[str, Any]


def found_lines(answer: Data) -> list[str]:
    """Of an answer's `message_data`, in the active language."""
    if answer.get("curated"):
        return [_("A checked answer")]
    if answer.get("written_by"):  # who it was stands below it
        return []
    lines = (
        " · ".join(filter(None, parts))
        for parts in (_searched(answer), _did(answer), [_fell_back(answer)])
    )
    return [capfirst(line) for line in lines if line]


def _searched(answer: Data) -> Iterable[str]:
    path = answer["decision_path"]
    searches = details_in(path, RetrieveDetails)
    if whole := _read_whole(path):
        yield _("read {read} of {total} sections").format(read=whole.read, total=whole.total)
    elif searches:
        yield _documents(max(search.documents or 0 for search in searches))
        if details_in(path, WebSearchDetails):
            yield _("and the web")
        yield _fitting(answer)
    elif answer["decision"] == "ANSWER" and not answer["sources"]:
        yield _("answered without a search")
        return
    yield _outcome(answer)


def _read_whole(path: Iterable[Data]) -> RetrieveDetails | None:
    """The documents that were read as a whole, where that was asked for."""
    readings = [
        reading for reading in details_in(path, RetrieveDetails) if reading.total is not None
    ]
    return readings[-1] if readings else None


def _documents(count: int) -> str:
    if not count:
        return _("searched the documents")
    return ngettext("searched {count} document", "searched {count} documents", count).format(
        count=f"{count:,}"
    )


def _fitting(answer: Data) -> str:
    """Those that the model named or graded as fitting, else those that it was given to read."""
    path = answer["decision_path"]
    judged = [one for one in details_in(path, AssessDetails) if one.named is not None]
    graded = details_in(path, GradeDetails)
    fitting = len(judged[-1].named or ()) if judged else 0
    if not fitting and graded:
        fitting = graded[-1].pass_count or 0
    if fitting:
        return ngettext("{count} passage fits", "{count} passages fit", fitting).format(
            count=fitting
        )
    given = [one.given for one in details_in(path, OrderDetails) if one.given is not None]
    read = (given[-1] if given else 0) or len(answer["sources"])
    return (
        ngettext("{count} passage read", "{count} passages read", read).format(count=read)
        if read
        else ""
    )


def _outcome(answer: Data) -> str:
    cited = sum(source["cited"] for source in answer["sources"])
    quoted = not answer["model"] and answer["decision"] == "ANSWER"
    match answer["status"], answer["decision"]:
        case (("complete" | "cut" | "stopped"), _) if cited and quoted:
            return ngettext("quoted from {count}", "quoted from {count}", cited).format(count=cited)
        case (("complete" | "cut" | "stopped"), "ANSWER") if cited:
            return ngettext("answered from {count}", "answered from {count}", cited).format(
                count=cited
            )
        case "complete", "CLARIFY":
            return _("several answers fit, so it asks which is meant")
        case "complete", "NO_ANSWER" if answer["model"] and not _read_whole(
            answer["decision_path"]
        ):
            return _("none of them answers the question")
    return ""


def _did(answer: Data) -> Iterable[str]:
    path = answer["decision_path"]
    searches = details_in(path, RetrieveDetails)
    if any(judged.by_model for judged in details_in(path, AssessDetails)):
        yield _("asked the model whether they answer")
    if len(searches) > 1:
        yield _("looked again in other words")
    graded = details_in(path, GradeDetails)
    if graded and graded[-1].total_count is not None:
        count = graded[-1].total_count
        yield ngettext("graded {count} document", "graded {count} documents", count).format(
            count=count
        )
    if details_in(path, ReflectDetails):
        yield _("reviewed its own draft")
    if moved := max((boosted.rated or 0 for boosted in details_in(path, BoostDetails)), default=0):
        yield ngettext(
            "ratings moved {count} passage", "ratings moved {count} passages", moved
        ).format(count=moved)


def _fell_back(answer: Data) -> str:
    """Without a model the page says so once, above; but not what became of an assistant."""
    fallbacks = [
        step for step in answer["degraded"] if answer["model"] or step["step"] == "assistant"
    ]
    if not fallbacks:
        return ""
    return _("not everything worked: {step} ({reason})").format(
        step=label(STEPS, fallbacks[0]["step"]), reason=fallbacks[0]["reason"]
    )
