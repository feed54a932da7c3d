"""Full-text search over questions and answers, by the terms that the search of documents uses too.

They are the same on both databases, fold Traditional to Simplified, and find Chinese, Japanese and Korean by character
bigrams. All words of a query have to occur; a word's forms in other languages are alternatives.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import reduce
from operator import and_

from django.db import connection, transaction
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL

from chat.models import AnswerReview, AnswerTerms
from ragsite.core.text import clean_text
from retrieval.text.analysis import analyze, query_terms
from retrieval.text.language import HAN, to_simplified

FREQUENT, FEW = 5_000, 1_000  # answers that have the words
INDEXED_CHARS = 20_000  # of an answer and its question
INDEXED_TERMS = 3_000
MAX_WORDS = 12  # of a query; further ones are left out

_HAN_OR_WORD = re.compile(rf"[{HAN}]+|(?:(?![{HAN}])\S)+")
_HAN = re.compile(f"[{HAN}]")


def terms_of(question: str, answer: str) -> str:
    """What an answer is found by, for `AnswerTerms.terms`: each term once, between spaces."""
    text = clean_text(f"{question}\n{answer}")[:INDEXED_CHARS]
    return " ".join(list(dict.fromkeys(analyze(text)))[:INDEXED_TERMS])


def wanted_terms(query: str) -> list[tuple[str, ...]]:
    """Of each word of a query the terms of which one has to occur. Empty for stop words and symbols alone."""
    words: list[tuple[str, ...]] = []
    for match in _HAN_OR_WORD.finditer(to_simplified(unicodedata.normalize("NFKC", clean_text(query)))):
        piece = match.group()
        if _HAN.match(piece):
            words += _han(piece)
        elif terms := tuple(dict.fromkeys(query_terms(piece))):
            # A code's whole comes first; a word that is spelt alike in several languages has a stem of each.
            words.append(terms if piece.isalpha() and piece[1:].islower() else terms[:1])
    return list(dict.fromkeys(words))[:MAX_WORDS]


def _han(run: str) -> list[tuple[str, ...]]:
    """Every pair of characters that the index holds: it matches however the text was cut into words."""
    indexed = set(analyze(run))
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    return [(pair,) for pair in pairs if pair in indexed] or [(term,) for term in query_terms(run)]


def with_terms(
    answers: QuerySet[AnswerReview], wanted: Sequence[tuple[str, ...]], *, in_order: bool = True
) -> QuerySet[AnswerReview]:
    """Those in which every word occurs. `wanted`: of `wanted_terms`, not empty.

    in_order: the first of an order are wanted, not their count. PostgreSQL's planner takes a few words together for
    rarer, and a rare word for more frequent, than they are, and would read all answers for it. So the index is asked
    first: few answers are then named by their ids, and many are looked for along the order, which soon has a page full.
    """
    if connection.vendor == "sqlite":
        match = " AND ".join("({})".format(" OR ".join(map(_quoted, terms))) for terms in wanted)
        rows = RawSQL("SELECT rowid FROM chat_answerterms_fts WHERE chat_answerterms_fts MATCH %s", [match])
        return answers.filter(pk__in=rows)
    texts = AnswerTerms.objects.all()
    for terms in wanted:
        texts = texts.filter(_occurs(terms))
    if len(wanted) > 1 or _expected(texts) <= FREQUENT:
        found = _by_index(texts, FEW + 1)
        if len(found) <= FEW:
            return answers.filter(pk__in=found)
    own = texts.filter(answer=OuterRef("pk"))
    if not in_order:
        return answers.filter(Exists(own))
    holds = [_occurs(terms) for terms in wanted]
    read = AnswerTerms.objects.filter(answer=OuterRef("pk")).annotate(holds=reduce(and_, map(Q, holds)))
    return answers.filter(Subquery(read.values("holds")))  # as a value: the planner makes no join of it


def _expected(texts: QuerySet[AnswerTerms]) -> int:
    """How many rows by the database's statistics, which is all that this looks at."""
    plan: int = json.loads(texts.explain(format="json"))[0]["Plan"]["Plan Rows"]
    return plan


def _by_index(texts: QuerySet[AnswerTerms], most: int) -> list[int]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        found = list(texts.values_list("answer_id", flat=True)[:most])
        cursor.execute("SET LOCAL enable_seqscan = on")
    return found


def _occurs(terms: tuple[str, ...]) -> Func:
    """Whether one of them does; the column's side is the expression that the index is over (migration 0009)."""
    wanted = Func(*map(Value, terms), template="ARRAY[%(expressions)s]::text[]")
    return Func(
        F("terms"),
        wanted,
        template="string_to_array(%(expressions)s)",
        arg_joiner=", ' ') && (",
        output_field=BooleanField(),
    )


def _quoted(term: str) -> str:
    return '"{}"'.format(term.replace('"', '""'))
