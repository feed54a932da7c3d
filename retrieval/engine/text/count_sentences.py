"""What is said of a count: how much of it is shown, and what it does not hold."""

from __future__ import annotations

from ragsite.core.messages import Sentence, counted, joined, worded
from retrieval.engine.values.counting import CountResult


def count_sentences(result: CountResult) -> list[Sentence]:
    """The first one says how many of how many; each other one says what is missing, and why."""
    return [_how_many(result), *_what_is_missing(result)]


def count_sentence(result: CountResult) -> Sentence:
    return joined(" ", count_sentences(result))


def _how_many(result: CountResult) -> Sentence:
    shown = len(result.rows)
    is_whole = result.looked_at == result.to_look_at
    if shown < result.total:
        first = worded("The first {shown:,} of {total:,}.", shown=shown, total=result.total)
        at_least = worded(
            "The first {shown:,} of at least {total:,}.", shown=shown, total=result.total
        )
        return first if is_whole else at_least
    if not is_whole:
        return worded("{total:,} so far, not complete.", total=result.total)
    if result.complete:
        return worded("{total:,} of {total:,}, complete.", total=result.total)
    return worded("{total:,} of {total:,} that could be compared.", total=result.total)


def _what_is_missing(result: CountResult) -> list[Sentence]:
    sentences = []
    if result.looked_at < result.to_look_at:
        sentences.append(
            worded(
                "The time was over: {looked_at:,} of {to_look_at:,} documents were looked at. Narrow it down.",
                looked_at=result.looked_at,
                to_look_at=result.to_look_at,
            )
        )
    if result.unread_cells:
        sentences.append(
            counted(
                "{count} row could not be compared: it holds neither a number nor a clear date there.",
                "{count} rows could not be compared: they hold neither a number nor a clear date there.",
                result.unread_cells,
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
