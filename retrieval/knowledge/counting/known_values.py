"""Whether the documents have what a count names: a value that none has is an error to report, not a count of 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragsite.core.messages import Sentence, counted, joined, worded
from retrieval.engine.errors import UnknownValueError
from retrieval.engine.values import SearchFilters, SearchScope
from retrieval.knowledge.counting.documents import current_documents
from retrieval.knowledge.selectors import as_uuid

MAX_KNOWN = 20  # values that are named
UNKNOWN = {
    "department": worded("No document has this department: {unknown}."),
    "doc_type": worded("No document is of this type: {unknown}."),
    "tags": worded("No document has this tag: {unknown}."),
}


def check_values(scope: SearchScope, metadata: SearchFilters) -> None:
    """Raises UnknownValueError, with the values that there are. Where there are no documents, nothing is unknown."""
    problems: dict[str, list[Sentence]] = {}
    rows = current_documents(scope).order_by()
    named = metadata.as_dict()
    for name in ("department", "doc_type"):
        if name in named and not rows.filter(**{name: named[name]}).exists():
            known = rows.values_list(name, flat=True).distinct()
            problems[name] = _value_list(name, [named[name]], set(known) - {""})
    if metadata.tags:
        held = {tag for tags in rows.values_list("tags", flat=True) for tag in tags}
        if unknown := [tag for tag in metadata.tags if tag not in held]:
            problems["tags"] = _value_list("tags", unknown, held)
    if metadata.documents:
        keys = {key for key in map(as_uuid, metadata.documents) if key}
        there = {str(key) for key in rows.filter(pk__in=keys).values_list("pk", flat=True)}
        if gone := [one for one in metadata.documents if str(as_uuid(one)) not in there]:
            problems["documents"] = [
                counted(
                    "{count} of the documents named is not among those that are counted.",
                    "{count} of the documents named are not among those that are counted.",
                    len(gone),
                )
            ]
    if problems and rows.exists():
        raise UnknownValueError(problems)


def _value_list(name: str, unknown: Sequence[str], known: Iterable[str]) -> list[Sentence]:
    template = UNKNOWN[name].wording["text"]
    said = [worded(template, unknown=", ".join(f"“{value}”" for value in unknown))]
    values = sorted(known)
    if values:
        said.append(worded("There are: {known}.", known=", ".join(values[:MAX_KNOWN])))
    else:
        said.append(worded("They have none at all."))
    if len(values) > MAX_KNOWN:
        more = len(values) - MAX_KNOWN
        said.append(counted("And {count} more.", "And {count} more.", more))
    return [joined(" ", said)]
