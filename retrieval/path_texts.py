"""The sentences of the decision path: a step writes a code and its detail, and here is what that says to people.

`{name}` is a value of the entry's detail. Where a value is a code itself (a reason, a verdict), its own sentence stands
in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragsite.core.wording import Sentence, joined, worded

MAX_CHARS = 300  # of one value within a sentence

TEXTS: dict[str, Sentence] = {
    # ---------------------------------------------------------------- any step
    "switched_off": worded("switched off"),
    "no_time_left": worded("no time was left for the model"),
    "too_late": worded("no result within {limit_s} s"),
    # ---------------------------------------------------------------- query
    "passage_imagined": worded("{passage}"),
    # ---------------------------------------------------------------- cite
    "sentences_checked": worded("sentences: {good} supported, {weak} weakly supported, {unchecked} not checked"),
    "nothing_stated": worded("nothing in the answer states a fact"),
    "no_answer_to_check": worded("there is no answer to check"),
    "quoted_word_by_word": worded("the sentences are quoted word by word"),
    "verdicts_missing": worded("the model did not check every sentence"),
    "verdicts_all_no": worded("the model said of every sentence that it is unsupported, which tells none apart"),
    # ---------------------------------------------------------------- memory
    "memory_not_here": worded("earlier answers are not recalled here"),
    "memory_nobody": worded("nobody is signed in whose earlier answers could be remembered"),
    "memory_off": worded("this user has switched the memory off"),
    "memory_late": worded("the memory did not answer in time"),
    "memory_empty": worded("nothing to recall"),
    "memory_recalled": worded("earlier answers recalled: {count}"),
    "remembered": worded("remembered"),
    "remembered_anew": worded("remembered, in place of an older answer"),
    "not_accepted": worded("the answer was not accepted"),
    "not_whole": worded("only whole answers are remembered"),
    "not_cited": worded("only what is cited is remembered"),
    "instructions": worded("instructions are not remembered"),
    "no_statement": worded("the answer states nothing that could be remembered"),
}


def path_text(code: str, detail: Mapping[str, Any]) -> Sentence:
    """The sentence of an entry. Raises KeyError for a code that is not in `TEXTS`, or a value that is not given."""
    template = TEXTS[code].wording["text"]
    return worded(
        template, **{name: _shown(name, value) for name, value in detail.items() if f"{{{name}}}" in template}
    )


def reason_text(reason: str) -> str:
    """A code's sentence; what is no code is a sentence already."""
    return TEXTS.get(reason, reason)


def _shown(name: str, value: Any) -> Any:
    match value:
        case Sentence():
            return value
        case str():
            return TEXTS[value] if name in ("reason", "verdict") and value in TEXTS else value[:MAX_CHARS]
        case Mapping():
            return joined(", ", (f"{key} = {_shown('', held)}" for key, held in value.items()))
        case list() | tuple():
            return joined("; ", (str(_shown("", held)) for held in value))
        case float():
            return round(value, 2)
        case _:
            return value
