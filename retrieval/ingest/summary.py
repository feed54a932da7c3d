"""A document's summary without a model: its headings, and the sentences that say most of what it says throughout.

Source: SumBasic (Nenkova and Vanderwende, MSR-TR-2005-101): a sentence counts by the mean probability of its terms in
the document; terms of a chosen one count less for the next.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from retrieval.text.analysis import analyze
from retrieval.text.sentences import split_sentences
from retrieval.text.tokens import estimate_tokens

WEIGHED_CHARS = 6_000  # of the sentences that are weighed: of a longer document, evenly spread over it
MAX_CHARS = 200_000  # in which they are looked for
MIN_TERMS, MAX_TERMS = 4, 80  # of a sentence that can stand for others
MIN_SENTENCE_TOKENS = 10  # with less room than this nothing more is looked for
HEADINGS_SHARE = 2  # headings take up 1/2 at most


def summarize(text: str, *, headings: Iterable[str], tokens: int) -> str:
    """At most about `tokens` tokens, in the document's order; "" where no sentence will do."""
    outline, left = _outline(headings, tokens // HEADINGS_SHARE), tokens
    left -= estimate_tokens(outline)
    sentences = _spread(split_sentences(text[:MAX_CHARS]))
    terms = [analyze(sentence) for sentence in sentences]
    usable = {at for at, sentence_terms in enumerate(terms) if MIN_TERMS <= len(sentence_terms) <= MAX_TERMS}
    chosen = _choose(sentences, terms, usable, left)
    return "\n".join(filter(None, (outline, " ".join(sentences[at] for at in sorted(chosen)))))


def _outline(headings: Iterable[str], tokens: int) -> str:
    """As many of the headings as there is room for, from the first on."""
    kept: list[str] = []
    for heading in dict.fromkeys(headings):
        if estimate_tokens("; ".join([*kept, heading])) > tokens:
            break
        kept.append(heading)
    return "; ".join(kept)


def _spread(sentences: Sequence[str]) -> Sequence[str]:
    step = -(-sum(map(len, sentences)) // WEIGHED_CHARS)
    return sentences[::step] if step > 1 else sentences


def _choose(sentences: Sequence[str], terms: Sequence[list[str]], usable: set[int], tokens: int) -> list[int]:
    counts = Counter(term for at in usable for term in terms[at])
    total = sum(counts.values()) or 1
    weight = {term: count / total for term, count in counts.items()}
    sentences_with = defaultdict(set)  # term → the sentences that say it, whose worth changes with its weight
    for at in usable:
        for term in terms[at]:
            sentences_with[term].add(at)

    def worth(at: int) -> float:
        return sum(map(weight.__getitem__, terms[at])) / len(terms[at])

    worths = {at: worth(at) for at in sorted(usable)}
    chosen: list[int] = []
    while worths and tokens >= MIN_SENTENCE_TOKENS:
        best = max(worths, key=worths.__getitem__)  # of equal ones the first
        del worths[best]
        cost = estimate_tokens(sentences[best])
        if cost > tokens:
            continue
        chosen.append(best)
        tokens -= cost
        weight.update({term: weight[term] ** 2 for term in set(terms[best])})
        for at in set().union(*(sentences_with[term] for term in terms[best])) & worths.keys():
            worths[at] = worth(at)
    return chosen
