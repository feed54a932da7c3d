"""Settings changed in the interface, checked by the same types and rules as the environment's.

Stored as `{"values": {"search.top_k": 8}, "prompts": {"generate.en": "…"}}`: only what differs from the operator's
settings. What the environment sets is not changed by it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.rag_settings.fields import Group, sentence
from ragsite.core.rag_settings.offered import OFFERED, bounds_of, kind_of, variable_of
from ragsite.core.wording import Sentence, joined, worded

MODEL_CHARS = 200  # of a name of a model, or of several
UNKNOWN = worded("This version has no such setting.")
RULES: dict[str, Sentence] = {  # what rules between settings say at the start → for people
    "weak_score must not be above good_score": worded("“Weak below” must not be above “Good from”."),
    "hopeless_score must not be above sure_score": worded("“Hopeless below” must not be above “Sure from”."),
    "top_k must be at most max_top_k": worded("Not more than a request may ask for (RAG_SEARCH_MAX_TOP_K)."),
}
Problems = dict[str, Sentence]  # by the name of the setting


def locked_by(environ: Mapping[str, str]) -> dict[str, str]:
    """Offered setting → the environment variable that decides it; an empty variable decides nothing."""
    variables = {name: variable_of(name) for name in OFFERED}
    return {name: variable for name, variable in variables.items() if environ.get(variable, "").strip()}


def changed(
    base: RagSettings, values: Mapping[str, Any], *, locked: Collection[str] = ()
) -> tuple[RagSettings, Problems]:
    """`base` with those values that can be used, and what is wrong with the others. Never raises.

    Values are JSON, or the text of a form. Those of `locked` settings are left out silently.
    """
    problems: Problems = {}
    by_group: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name not in OFFERED:
            problems[name] = UNKNOWN
        elif name not in locked:
            if problem := _shape(name, value):
                problems[name] = problem
            else:
                group, _, field = name.partition(".")
                by_group.setdefault(group, {})[field] = value.strip() if isinstance(value, str) else value
    groups: dict[str, Group] = {}
    for group, fields in by_group.items():
        made, wrong = _group(getattr(base, group), fields)
        for name, value in list(fields.items()):
            if (full := f"{group}.{name}") not in wrong and (problem := _too_much(full, getattr(made, name))):
                wrong[f"{group}.{name}"] = problem
                fields = {field: value for field, value in fields.items() if field != name}
        if wrong:
            kept = {field: value for field, value in fields.items() if f"{group}.{field}" not in wrong}
            made, further = _group(getattr(base, group), kept)
            problems |= further
        groups[group] = made
        problems |= wrong
    return base.replace(**groups) if groups else base, problems


def _shape(name: str, value: Any) -> Sentence | None:
    """What pydantic would read leniently: a flag is no number, a list no text."""
    kind = kind_of(name)
    if isinstance(value, bool) and kind != "flag":
        return worded("Give a number.") if kind in ("whole", "number") else worded("Give a text.")
    if kind in ("model", "models", "choice") and not isinstance(value, str):
        return worded("Give a text.")
    if kind in ("model", "models") and (len(value) > MODEL_CHARS or not value.isprintable()):
        return worded("Names of models have at most {most} characters, on one line.", most=MODEL_CHARS)
    return None if isinstance(value, str | int | float) else worded("This is not a value of a setting.")


def _too_much(name: str, value: Any) -> Sentence | None:
    most = bounds_of(name).get("most") if kind_of(name) in ("whole", "number") else None
    return worded("At most {most}.", most=_plain(most)) if most is not None and value > most else None


def _group(now: Group, fields: Mapping[str, Any]) -> tuple[Any, Problems]:
    """The group with those of the fields that can be used together."""
    name = next(name for name, kind in GROUPS.items() if type(now) is kind)
    left, problems = dict(fields), Problems()
    while left:
        try:
            return now.replace(**left), problems
        except ValidationError as error:
            wrong = _faults(type(now), left, error)
            problems |= {f"{name}.{field}": said for field, said in wrong.items()}
            left = {field: value for field, value in left.items() if field not in wrong}
    return now, problems


def _faults(kind: type[Group], fields: Mapping[str, Any], error: ValidationError) -> Problems:
    """By field. A rule between fields is told at each changed one that it names, or at all of them."""
    variables, found = kind.variables(), Problems()
    for fault in error.errors(include_url=False):
        if fault["loc"]:
            named = str(fault["loc"][0])
            field = next(field for field, variable in variables.items() if named in (field, variable))
            found[field] = fault_sentence(fault)
        else:
            text = sentence(fault)
            said = next((words for rule, words in RULES.items() if text.startswith(rule)), Sentence(text))
            told = set(re.findall(r"\w+", text))
            named_fields = [field for field in fields if field in told]
            found |= dict.fromkeys(named_fields or fields, said)
    return found if any(field in fields for field in found) else dict.fromkeys(fields, worded("Not possible here."))


def fault_sentence(fault: Any) -> Sentence:
    """One of pydantic's error details, for people."""
    context = fault.get("ctx", {})
    match fault["type"]:
        case "int_parsing" | "int_from_float" | "int_type" | "int_parsing_size":
            return worded("Give a whole number.")
        case "float_parsing" | "finite_number" | "float_type":
            return worded("Give a number.")
        case "bool_parsing" | "bool_type":
            return worded("Choose on or off.")
        case "literal_error":
            choices = re.findall(r"'([^']+)'", str(context.get("expected", "")))
            return worded("One of {known}.", known=joined(", ", choices))
        case "greater_than":
            return worded("More than {least}.", least=_plain(context["gt"]))
        case "greater_than_equal":
            return worded("At least {least}.", least=_plain(context["ge"]))
        case "less_than_equal":
            return worded("At most {most}.", most=_plain(context["le"]))
        case _:
            return worded("This can't be used: {reason}.", reason=sentence(fault))


def _plain(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number
