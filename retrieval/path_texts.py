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
    # ---------------------------------------------------------------- whole documents
    "task_summarise": worded("to be summarised as a whole"),
    "task_list": worded("deadlines, amounts and contacts are to be listed"),
    "task_compare": worded("two documents are to be compared"),
    "documents_read": worded("read {read} of {total} sections of {titles}"),
    "notes_taken": worded("notes made: {notes}; sections read: {read}"),
    "rows_found": worded("entries found: {rows}; sections read: {read}"),
    "sentences_compared": worded("sentences: {changed} changed, {new} new, {gone} gone, {same} the same"),
    "written": worded("{characters} characters from {of} passages, by {model}"),
    "quoted": worded("lines quoted: {lines}"),
    "document_unread": worded("the model could not read the document"),
    "document_missing": worded("a document is no longer there"),
    "document_empty": worded("the document holds no text"),
    "list_needs_model": worded("a list needs a language model"),
    "nothing_of_this_kind": worded("the document holds nothing of this kind"),
    "no_answer_because": worded("no answer: {reason}"),
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
