"""The sentences of the decision path, by the codes of its entries.

`{name}` is a value of the entry's detail; where a value is a code itself (`CODES`), its own sentence stands in its
place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragsite.core.messages import Sentence, worded

MAX_CHARS = 300  # of one value within a sentence
CODES = ("purpose", "decision", "problem")  # values that may be codes themselves
TEXTS: dict[str, Sentence] = {
    # ---------------------------------------------------------------- any step
    "switched_off": worded("switched off"),
    "no_time_left": worded("no time was left for the model"),
    "too_late": worded("no result within {limit_s} s"),
    "late": worded("no result within the time limit"),
    "nothing_found": worded("nothing was found"),
    "nothing_new": worded("nothing new was found"),
    "slow_embedder": worded("no result within {timeout_s:.1f} s"),
    "attachments_read": worded("waited until {names} was read"),
    "attachments_unreadable": worded("{names} could not be read, and was not searched"),
    "attachments_not_ready": worded("{names} was not ready, and was not searched"),
    "no_documents": worded("there are no documents to search in"),
    "no_model_reads": worded("no model judges the passages"),
    # ---------------------------------------------------------------- assistant
    "assistant_used": worded("{name}, version {version}"),
    "assistant_gone": worded(
        "the assistant “{name}” was deleted or is no longer shared with you, so this was asked without it"
    ),
    "assistant_lost": worded("“{name}” asks for what this site no longer has: {lost}"),
    "assistant_unreadable": worded(
        "“{name}” looks into {collections} collections; those that you may not read were not searched: {unreadable}"
    ),
    # ---------------------------------------------------------------- query
    "stands_alone": worded("the question is complete in itself"),
    "condensed": worded("{standalone_question}"),
    "passage_imagined": worded("{passage}"),
    "queries_made": worded("{queries}"),
    "no_other_words": worded("no other words are left to try"),
    "query_tried_before": worded("the model gave a query that was tried before, or none"),
    "rewritten": worded("attempt {attempt}: {rewritten}"),
    "filters_read": worded("{from_model}"),
    "values_named": worded("named in the question, so preferred: {values}"),
    "no_filters_read": worded("the model reads no other filter from the question"),
    "strategy": worded("{route}: {standalone_question}"),
    "route_not_available": worded("the model chose a way that is not available"),
    "rewritten_first": worded(
        "the query is rewritten before the search: it is short, or follows another"
    ),
    "rewritten_by_route": worded(
        "the query is rewritten before the search: the model says that it is chatty or vague"
    ),
    "straight_to_search": worded("straight to the search"),
    "plan_by_model": worded("{type}, {complexity}: {order}"),
    "plan_by_rule": worded("{order}"),
    "plan_mended": worded("retry {retry}, {problem} → {remedy}: {order}"),
    "outdated": worded("what was found is out of date"),
    "absent": worded("the documents hold nothing about it"),
    "badly_ordered": worded("what answers did not come first"),
    "incomplete": worded("a part of the question is not covered"),
    "low_relevance": worded("too little of it is relevant"),
    "not_enough": worded("it was not enough"),
    "task_running": worded("{id} {type}: running"),
    "task_done": worded("{id} {type}: {note} found"),
    "task_failed": worded("{id} {type}: not possible, {note}"),
    "plan_without_search": worded("no task of the model's plan searches for anything"),
    # ---------------------------------------------------------------- retrieve
    "retrieved": worded("passages found: {found}; queries: {searched}"),
    "retrieved_for": worded("{purpose}: passages found: {found}; queries: {searched}"),
    "retrieved_preferring": worded(
        "{purpose}: passages found: {found}; preferred, so first: {values} ({lifted}); queries: {searched}"
    ),
    "retrieved_relaxed": worded(
        "{purpose}: passages found: {found}; preferred, but relaxed, since nothing found has it: {values}; "
        "queries: {searched}"
    ),
    "retrieved_again": worded(
        "{purpose}: passages found: {found}; queries: {searched}; taken from the cache"
    ),
    "retrieved_again_preferring": worded(
        "{purpose}: passages found: {found}; preferred, so first: {values} ({lifted}); queries: {searched}; "
        "taken from the cache"
    ),
    "retrieved_again_relaxed": worded(
        "{purpose}: passages found: {found}; preferred, but relaxed, since nothing found has it: {values}; "
        "queries: {searched}; taken from the cache"
    ),
    "all_words": worded("all words"),
    "own_words": worded("the question as asked"),
    "by_words_alone": worded("by words alone"),
    "wider": worded("wider, without the filters read from the question"),
    "on_the_web": worded("on the web"),
    "refined": worded("search {number}: {purpose}"),
    "ratings_late": worded("ratings could not be used: they took too long"),
    "boosted": worded("ratings moved {rated} of {found} passages"),
    "not_boosted": worded("no ratings apply to what was found"),
    "deduped": worded("passages: {before} → {after}"),
    "ordered": worded("kept {given} of {found} passages, best first"),
    "ordered_sandwich": worded(
        "kept {given} of {found} passages, best first and last, the weakest in the middle"
    ),
    "too_far": worded("left out {left_out} passages less similar than {least}"),
    "compressed": worded("cut from {before} to {after} tokens"),
    "web_not_wanted": worded("not asked for"),
    "no_web_search": worded("this site has no web search (RAG_WEB_SEARCH)"),
    "web_away": worded("the web could not be searched: {reason}"),
    "web_found": worded("{query}: results: {count}"),
    "count_read": worded("what is counted: {filters}"),
    "count_read_of_some": worded(
        "what is counted: {filters}; what the documents have more of than the model was shown: {not_offered}"
    ),
    "columns_in_part": worded(
        "the columns of {looked_at} of {documents} documents are known: others are not read, or the time was over"
    ),
    "count_not_read": worded("the question names nothing that could be counted by"),
    "counted": worded("{total} counted in {looked_at} documents"),
    "counted_in_part": worded(
        "{total} counted, not complete: {looked_at} of {to_look_at} documents looked at, rows not compared: {unread_cells}"
    ),
    "not_counted": worded("the documents could not be counted"),
    "count_shown": worded("rows shown: {shown} of {of}"),
    "counted_by_database": worded("the database counted"),
    # ---------------------------------------------------------------- judge
    "reranked": worded("best {best}: {title}"),
    "reranked_fewer": worded("best {best}: {title}; left out: {left_out}"),
    "reranked_below": worded(
        "none reaches {min_score}, so the best stays: {best}, {title}; left out: {left_out}"
    ),
    "judged_yes": worded("the model says that passages answer"),
    "judged_no": worded("the model says that no passage answers"),
    "judged_unclear": worded("the model says that the passages are about different things"),
    "enough_good": worded("good passages: {good}; needed: {min_docs}"),
    "too_few_good": worded("good passages: {good}, too few; needed: {min_docs}"),
    "not_judged": worded("no model judged what was found"),
    "passage_out_of_range": worded("the model named a passage that it was not shown"),
    "score_out_of_range": worded("the model gave a number outside its range"),
    "graded": worded(
        "documents: {total_count}; relevant: {pass_count}; graded earlier: {graded_before}"
    ),
    "model_says_relevant": worded("the model says: relevant"),
    "model_says_not_relevant": worded("the model says: not relevant"),
    "not_graded": worded("no model graded it, so it stays"),
    "pass_rate": worded("pass rate {pass_rate}, {pass_threshold} needed: {verdict}"),
    "pass_rate_stop": worded("pass rate {pass_rate}, {pass_threshold} needed: {verdict} ({stop})"),
    "enough": worded("enough documents passed"),
    "web_was_last": worded("the web was searched last"),
    "rewrites_used_up": worded("all rewrites are used up"),
    "forced_to_generate": worded("no document passed, and an answer was asked for all the same"),
    "no_time_to_search": worded("too little time is left to search again"),
    "reflected": worded(
        "{outcome}: {score} (relevance {relevance}, completeness {completeness}, factuality {factuality})"
    ),
    "wrong_number_of_scores": worded("the model did not score each passage"),
    "answer_accepted": worded("accepted ({score})"),
    "answer_rejected": worded("rejected ({score})"),
    "answer_rejected_twice": worded("no draft was accepted; this is the best of them"),
    "documents_passed": worded("{passed} of {found} documents passed the grading"),
    "none_relevant": worded("none of {count} documents is relevant"),
    "strategies_tried": worded("every strategy was tried: {tried}"),
    "no_model_wrote": worded("no model wrote this answer, so none judges it"),
    # ---------------------------------------------------------------- answer
    "passages_shown": worded("{shown} of {of} passages shown as they stand, without a model"),
    "passages_shown_alone": worded("no model wrote; these passages fit best"),
    "model_refuses": worded("{reason}, says {model}"),
    "judged_not_written": worded(
        "a model says that passages answer, and the one that writes put nothing of them into words"
    ),
    "passages_do_not_answer": worded("the passages do not answer"),
    "passages_differ": worded("the passages are about different things"),
    "empty_answer": worded("the model gave an empty answer"),
    "time_was_over": worded("the time for the answer ran out"),
    "asked_back": worded("{question}"),
    "found_but_weak": worded("what was found does not answer the question"),
    "checked_answer_fits": worded("a checked answer to “{question}” fits"),
    "checked_by": worded("checked by {by} on {on}"),
    "several_things": worded("what was found is about several things: {options}"),
    "nothing_supported": worded("no passage supports any sentence of the answer"),
    "checked_beforehand": worded("written and checked by {by} on {on}"),
    "checked_answers_late": worded("checked answers could not be looked up in time"),
    "no_word_found": worded("no word of the message stands in a document"),
    "help_given": worded("the help of this site"),
    "no_direct_reply": worded("no model to reply from the conversation"),
    "decided": worded("{decision}: {reason}"),
    "not_decided": worded("no decision: {reason}"),
    "written_without_confirmation": worded(
        "no other words are left; this is written from what was found, which the model does not call sufficient"
    ),
    "ANSWER": worded("Answered"),
    "CLARIFY": worded("Asked back"),
    "NO_ANSWER": worded("No answer found"),
    "this_was_found": worded("the passages answer the question"),
    "no_documents_needed": worded("it needed no documents"),
    # ---------------------------------------------------------------- cite
    "sentences_checked": worded(
        "sentences backed by a source: {good}; weakly backed: {weak}; not checked: {unchecked}"
    ),
    "nothing_stated": worded("nothing in the answer states a fact"),
    "no_answer_to_check": worded("there is no answer to check"),
    "quoted_word_by_word": worded("the sentences are quoted word by word"),
    "verdicts_missing": worded("the model did not check every sentence"),
    "cites_too_much": worded("it rests on more passages than a short look can hold"),
    "support_full": worded("the model confirms the answer"),
    "support_partly": worded("the model confirms a part of the answer"),
    "support_none": worded("the model does not confirm the answer"),
    # ---------------------------------------------------------------- whole documents
    "task_summarise": worded("to be summarised as a whole"),
    "task_list": worded("deadlines, amounts and contacts are to be listed"),
    "task_count": worded("all documents are to be counted"),
    "task_compare": worded("two documents are to be compared"),
    "documents_read": worded("read {read} of {total} sections of {titles}"),
    "notes_taken": worded("notes made: {notes}; sections read: {read}"),
    "rows_found": worded("entries found: {rows}; sections read: {read}"),
    "sentences_compared": worded(
        "sentences: {changed} changed, {new} new, {gone} gone, {same} the same"
    ),
    "written": worded("{characters} characters from {of} passages, by {model}"),
    "quoted": worded("lines quoted: {lines}"),
    "document_unread": worded("the model could not read the document"),
    "document_missing": worded("a document is no longer there"),
    "document_empty": worded("the document holds no text"),
    "list_needs_model": worded("a list needs a language model"),
    "nothing_of_this_kind": worded("the document holds nothing of this kind"),
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
    "no_statement": worded("the answer states nothing that could be remembered"),
}


def path_text(code: str, detail: Mapping[str, Any]) -> Sentence:
    """The sentence of an entry. Raises KeyError for a code that is not in `TEXTS`, or a value that is not given."""
    template = TEXTS[code].wording["text"]
    return worded(
        template,
        **{
            name: _shown(name, value) for name, value in detail.items() if f"{{{name}}}" in template
        },
    )


def _shown(name: str, value: Any) -> Any:
    match value:
        case Sentence():
            return value
        case str():
            return TEXTS[value] if name in CODES and value in TEXTS else value[:MAX_CHARS]
        case Mapping():
            return ", ".join(f"{key} = {_shown('', held)}" for key, held in value.items())
        case list() | tuple():
            return "; ".join(str(_shown("", held)) for held in value)[:MAX_CHARS]
        case float():
            return round(value, 2)
        case _:
            return value
