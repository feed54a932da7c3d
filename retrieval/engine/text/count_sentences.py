"""What is said of a count: how much of it is shown, and what it does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from ragsite.core.messages import Sentence, counted, joined, worded
from ragsite.core.text import shortened
from retrieval.engine.text.quoting import one_line
from retrieval.engine.values.counting import CountResult

MAX_NAMED_CHARS = 60  # of a cell or a column


def count_sentences(result: CountResult) -> list[Sentence]:
    """The first one says how many of how many; each other one says what is missing or to be known, and why."""
    return [_count_phrase(result), *_method_sentence(result), *_missing_sentences(result)]


def count_sentence(result: CountResult) -> Sentence:
    return joined(" ", count_sentences(result))


def _count_phrase(result: CountResult) -> Sentence:
    shown = len(result.rows)
    is_whole = result.looked_at == result.to_look_at
    if not result.in_scope:
        return worded("There are no documents to count.")
    if not result.to_look_at:
        return worded("No document fits the filters.")
    if result.unknown_columns:
        return worded(
            "No table or form that was looked at has a column {names}.",
            names=_listed(result.unknown_columns),
        )
    if shown < result.total:
        first = worded("The first {shown:,} of {total:,}.", shown=shown, total=result.total)
        at_least = worded(
            "The first {shown:,} of at least {total:,}.", shown=shown, total=result.total
        )
        return first if is_whole else at_least
    if not is_whole:
        return worded("{total:,} so far, not complete.", total=result.total)
    if result.complete:
        return worded("{total:,} of {total:,}: every document was looked at.", total=result.total)
    return worded("{total:,} of {total:,} that could be compared.", total=result.total)


def _method_sentence(result: CountResult) -> list[Sentence]:
    sentences = []
    if result.words_left_out:
        sentences.append(
            worded(
                "Not looked for, as such words stand nearly everywhere: {words}. A phrase looks for them too.",
                words=_listed(result.words_left_out),
            )
        )
    if result.other_units:
        sentences.append(
            worded(
                "Numbers with different units or words beside them were compared as they stand: {cells}.",
                cells=_listed([cell.value for cell in result.other_units]),
            )
        )
    if result.copies:
        sentences.append(
            counted(
                "{count} of these documents is the same file as another one of them.",
                "{count} of these documents are the same files as others of them.",
                result.copies,
            )
        )
    return sentences


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(f"“{shortened(one_line(text), MAX_NAMED_CHARS)}”" for text in texts)


def _missing_sentences(result: CountResult) -> list[Sentence]:
    sentences = []
    if result.looked_at < result.to_look_at:
        sentences.append(
            worded(
                "The time was over: {looked_at:,} of {to_look_at:,} documents were looked at. Narrow it down.",
                looked_at=result.looked_at,
                to_look_at=result.to_look_at,
            )
        )
    if unreadable := result.unread_cells - result.ambiguous_cells:
        sentences.append(
            counted(
                "{count} row could not be compared: it holds neither a number nor a clear date there.",
                "{count} rows could not be compared: they hold neither a number nor a clear date there.",
                unreadable,
            )
        )
    if result.ambiguous_cells:
        sentences.append(
            counted(
                "{count} row could not be compared: what it holds there can be read in two ways.",
                "{count} rows could not be compared: what they hold there can be read in two ways.",
                result.ambiguous_cells,
            )
        )
    if result.empty_cells:
        sentences.append(
            counted(
                "{count} row is not counted: a compared column is empty there.",
                "{count} rows are not counted: a compared column is empty there.",
                result.empty_cells,
            )
        )
    if result.unset:
        sentences.append(
            counted(
                "{count} document is not looked at: what is filtered by is not set there.",
                "{count} documents are not looked at: what is filtered by is not set there.",
                result.unset,
            )
        )
    if result.being_read:
        sentences.append(
            counted(
                "{count} document is still being read and is not counted.",
                "{count} documents are still being read and are not counted.",
                result.being_read,
            )
        )
    if result.failed:
        sentences.append(
            counted(
                "{count} document could not be read and is not counted.",
                "{count} documents could not be read and are not counted.",
                result.failed,
            )
        )
    if result.partly_read:
        sentences.append(
            counted(
                "Parts of {count} document could not be read.",
                "Parts of {count} documents could not be read.",
                result.partly_read,
            )
        )
    return sentences
