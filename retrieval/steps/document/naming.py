"""Which documents a question means, of those that the asking user may see.

Nothing may be left over: each word beside the task's own has to be one of a title, a year, or a word for a document
("rules", 办法). "Summarise the rules on late fees" is no request for a whole document: no title holds "late".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from retrieval.steps.document.task import FILLER_HAN, NOUNS, NOUNS_HAN, UNIVERSAL, UNIVERSAL_HAN, Mention, Wanted
from retrieval.steps.query.route import fold, years_in
from retrieval.text.analysis import query_terms
from retrieval.text.language import HAN, converted
from retrieval.values import DocumentRef

NEARLY = 0.9  # where a quoted name differs from a title in its word for a document alone: 學生請假規定, 學生請假規則
EXACT = 2.0  # share of a document whose title, or file, is named letter by letter
LEAST_NAME_HAN = 3  # characters, without the word for a document, that such a name has at least
LEAST_SHARE = 0.5  # of a title's words that a question must hold which does not say that it means a document
PREFIX = 4  # letters that a shortened word has at least: exam, examination
MAX_OPTIONS = 8  # titles to choose among
NEAREST = 3  # titles that are offered where there is no such document
MAX_HINTS = 12  # words that the documents are looked up by

_EMPTY = frozenset(("the", "a", "an", "of", "in", "on", "for", "to", "and", "or", "from", "by", "with"))
_TOKEN = re.compile(r"[a-z0-9]+")
_LEFT_HAN = re.compile(rf"(?:{FILLER_HAN})*+")
_FRONT_HAN, _BACK_HAN = re.compile(rf"^(?:{FILLER_HAN})++"), re.compile(rf"(?:{FILLER_HAN})++$")
_NOUN_BACK = re.compile(rf"(?:{NOUNS_HAN})$")
_UNIVERSAL_HAN = re.compile(f"(?:{UNIVERSAL_HAN})")
_YEAR = re.compile(r"(?:19|20)\d{2}(?:学年度?|年度|年版|年|版)?")
_YEAR_IN_TITLE = re.compile(r"[(（]?(?:19|20)\d{2}\s?(?:年版?|版)?[)）]?")
_HAN_RUN = re.compile(rf"[{HAN}]+")


@dataclass(frozen=True, slots=True)
class Meant:
    """The documents: one, or the older and the newer of two. `thing`: which of `Wanted.things` they were read with."""

    documents: tuple[DocumentRef, ...]
    reading: int = 0


Resolved = Meant | None  # None: an ordinary question


# ------------------------------------------------------------------------------------------------ looking them up
def hints_of(wanted: Wanted) -> tuple[str, ...]:
    """What a title or file name of a meant document holds one of, in either Chinese script; empty where any may be."""
    hints: dict[str, None] = {}
    for mention in (one for reading in wanted.readings for one in reading):
        for word in (*mention.words, *_words_of(mention.quoted)):
            if len(word) > 1 and word not in _EMPTY:
                hints[word[: max(PREFIX, len(word) - 3)]] = None
        for run in (
            *_HAN_RUN.findall(mention.han),
            *(run for name in mention.quoted for run in _HAN_RUN.findall(name)),
        ):
            hints |= dict.fromkeys(run[at : at + 2] for at in range(0, max(1, len(run) - 1), 2))
            hints |= dict.fromkeys(run[at : at + 2] for at in range(1, max(1, len(run) - 1), 2))
    if not all(_names_something(reading[0]) for reading in wanted.readings if len(reading) == 1):
        return ()
    both = (form for hint in list(hints)[: 3 * MAX_HINTS] for form in (hint, converted(hint, "s2t")))
    return tuple(dict.fromkeys(both))


def _names_something(mention: Mention) -> bool:
    """More than a year and words for a document, which any title may fit."""
    return bool(mention.words or mention.quoted or _left(_NOUN_BACK.sub("", _left(mention.han))))


def _words_of(quoted: Iterable[str]) -> list[str]:
    return [word for name in quoted for word in _TOKEN.findall(name) if not word.isdecimal()]


def points_at_one(wanted: Wanted) -> bool:
    """Whether "this document" is all that it says."""
    mention = wanted.readings[0][0]
    return mention.this and not (mention.words or mention.quoted or mention.years or _left(mention.han))


# ------------------------------------------------------------------------------------------------ which are meant
def resolve(wanted: Wanted, documents: Sequence[DocumentRef]) -> Resolved:
    """`documents`: those that may be meant. Pure."""
    if wanted.task == "changes":
        return _resolve_changes(wanted, documents)
    for at, (mention,) in enumerate(wanted.readings):
        found = _resolve_one(mention, documents, weak=wanted.weak)
        if found is not None:
            return Meant(found.documents, at)
    return None


def _resolve_one(mention: Mention, documents: Sequence[DocumentRef], *, weak: bool) -> Resolved:
    if points_only(mention):
        return _pointed_at(documents)
    if mention.this and (mention.words or mention.quoted or _left(mention.han)):
        return None  # "the fees of this document": something of it
    matches = matching(mention, documents)
    if not matches:
        return None
    best = max(match.share for match in matches)
    sure = mention.quoted or best >= 1.0 or (mention.nouns and (mention.words or mention.han or mention.years))
    if not sure and (weak or best < LEAST_SHARE):
        return None
    return _one_of([match for match in matches if match.share == best] if best >= 1.0 else matches)


def points_only(mention: Mention) -> bool:
    return mention.this and not (mention.words or mention.quoted or mention.years or _left(mention.han))


def _pointed_at(documents: Sequence[DocumentRef]) -> Resolved:
    attached = [document for document in documents if document.attached]
    meant = attached or list(documents)
    if len(meant) == 1:
        return Meant((meant[0],))
    return None


def _one_of(matches: Sequence[Match]) -> Resolved:
    """The only one, or of several of one name the newest."""
    documents = [match.document for match in matches]
    documents = [document for document in documents if not document.superseded] or documents
    newest = max(documents, key=lambda document: year_of(document) or 0)
    return Meant((newest,)) if len({topic_of(document) for document in documents}) == 1 else None


def _resolve_changes(wanted: Wanted, documents: Sequence[DocumentRef]) -> Resolved:
    """Versions of one document by their years, or two documents that are both named."""
    whole = wanted.readings[0][0]
    for left, right in wanted.readings[1:]:
        first, second = (_resolve_one(one, documents, weak=False) for one in (left, right))
        if isinstance(first, Meant) and isinstance(second, Meant) and first.documents != second.documents:
            return Meant(_by_year((*first.documents, *second.documents)))
    if len(whole.years) > 2 or whole.this:
        return None
    if len(whole.quoted) > 1:
        return None  # two names, of which one at least is unknown
    matches = matching(Mention(words=whole.words, han=whole.han, quoted=whole.quoted, nouns=whole.nouns), documents)
    least = LEAST_SHARE if len(whole.years) == 2 else 1.0
    sure = whole.quoted or whole.nouns or max((match.share for match in matches), default=0.0) >= least
    if not matches or not sure or not (whole.words or whole.han or whole.quoted or whole.years):
        return None
    versions: dict[str, list[DocumentRef]] = {}
    for match in matches:
        versions.setdefault(topic_of(match.document), []).append(match.document)
    pairs = {topic: pair for topic, found in versions.items() if (pair := _versions(found, whole.years))}
    if len(pairs) == 1:
        return Meant(next(iter(pairs.values())))
    return None


def _versions(documents: Sequence[DocumentRef], years: Sequence[int]) -> tuple[DocumentRef, ...]:
    """The older and the newer one: of the years that are named, else the last two; empty where these are not there."""
    by_age: dict[tuple[int, bool], DocumentRef] = {}
    for document in documents:
        by_age.setdefault((year_of(document) or 0, not document.superseded), document)
    ages = sorted(by_age)
    named = [next((age for age in reversed(ages) if age[0] == year), None) for year in years]
    if None in named:
        return ()
    chosen = [age for age in named if age is not None]
    others = [age for age in reversed(ages) if age not in chosen and (age[0] or len(ages) == 2)]
    pair = sorted([*chosen, *others][:2])
    return tuple(by_age[age] for age in pair) if len(pair) == 2 else ()


def _by_year(pair: Sequence[DocumentRef]) -> tuple[DocumentRef, ...]:
    years = [year_of(document) for document in pair]
    if None not in years and years[0] != years[1]:
        return tuple(sorted(pair, key=lambda document: year_of(document) or 0))
    return tuple(pair)


# ------------------------------------------------------------------------------------------------ matching
@dataclass(frozen=True, slots=True)
class Match:
    """share: of the title's words, without years and words for a document, that the mention has; 1: all;
    EXACT: the years as well."""

    document: DocumentRef
    share: float


def matching(mention: Mention, documents: Sequence[DocumentRef]) -> list[Match]:
    """Those whose title or file name has every word of the mention, and that are of a year that it names."""
    found = []
    for document in documents:
        share = _share(mention, document)
        if share is None:
            continue
        years = {year for year in (document.policy_year, *years_in(document.title)) if year is not None}
        if mention.years and not years & set(mention.years):
            continue
        found.append(Match(document, share))
    nouns = {_stem(noun) for noun in mention.nouns if noun not in UNIVERSAL and not _UNIVERSAL_HAN.fullmatch(noun)}
    called = [match for match in found if nouns & _nouns_in(match.document.title)]
    return called or found


def _share(mention: Mention, document: DocumentRef) -> float | None:
    """None: a word is left over."""
    title = _plain(document.title)
    shares: list[float] = []
    for name in mention.quoted:
        quoted = _plain(name)
        if not quoted:
            return None
        years = set(years_in(name))
        if quoted in (title, _plain(document.file_name)):
            shares.append(EXACT)
        elif years and year_of(document) not in years:
            return None
        elif _core(quoted) == _core(title):
            shares.append(1.0)
        elif len(quoted) > 2 and _core(quoted) and _core(quoted) in title:
            shares.append(len(_core(quoted)) / max(1, len(_core(title))))
        elif len(_called_han(quoted)) >= LEAST_NAME_HAN and _called_han(quoted) == _called_han(title):
            shares.append(NEARLY)
        else:
            return None
    if mention.words:
        names = _name_words(f"{document.title} {document.file_name.rpartition('.')[0]}")
        own = _name_words(document.title)
        if not all(any(_same(word, name) for name in names) for word in mention.words):
            return None
        held = [name for name in own if any(_same(word, name) for word in mention.words)]
        shares.append(len(held) / max(1, len(own)))
    if _left(mention.han):
        share = _share_han(mention.han, title)
        if share is None:
            return None
        shares.append(share)
    if not shares:
        return 0.0 if mention.nouns or mention.years else None
    return max(shares)


def _share_han(text: str, title: str) -> float | None:
    core = _core(title)
    if len(core) >= 2 and core in text:
        return 1.0 if _LEFT_HAN.fullmatch(_UNIVERSAL_HAN.sub("", text.replace(core, "", 1))) else None
    name = _left(text)
    for form in (name, _NOUN_BACK.sub("", name)):
        form = _left(form)
        if len(form) >= 2 and form in title:
            return len(form) / max(1, len(_NOUN_BACK.sub("", core) or core))
    # Nothing but a word for a document: "这些规定", "2022年的规定".
    return 0.0 if not _left(_NOUN_BACK.sub("", name)) else None


def _left(han: str) -> str:
    """Without what says nothing at both ends."""
    return _BACK_HAN.sub("", _FRONT_HAN.sub("", han))


def _called_han(plain: str) -> str:
    """A Chinese name without its year and its word for a document; empty where it does not end in one."""
    core = _core(plain)
    name = _NOUN_BACK.sub("", core)
    return name if name != core else ""


def _left_over(mention: Mention) -> bool:
    """Whether there are words beside a quoted name."""
    return bool(mention.words) or bool(_left(re.sub(NOUNS_HAN, "", mention.han)))


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    """Letters and digits alone, folded."""
    return "".join(char for char in fold(text) if char.isalnum())


@lru_cache(maxsize=8192)
def _core(plain: str) -> str:
    return _YEAR.sub("", plain)


@lru_cache(maxsize=8192)
def _name_words(text: str) -> tuple[str, ...]:
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    years = {token for token in tokens if _YEAR.fullmatch(token)}
    return tuple(dict.fromkeys(token for token in tokens if token not in years | _EMPTY and token not in NOUNS))


def _same(word: str, name: str) -> bool:
    left, right = _stem(word), _stem(name)
    if left == right:
        return True
    shorter, longer = sorted((left, right), key=len)
    return len(shorter) >= PREFIX and longer.startswith(shorter)


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    return next(iter(query_terms(word)), word) if word.isascii() else word


def _nouns_in(title: str) -> set[str]:
    folded = fold(title)
    return {_stem(token) for token in _TOKEN.findall(folded) if token in NOUNS} | set(re.findall(NOUNS_HAN, folded))


def year_of(document: DocumentRef) -> int | None:
    """The year in its title counts more than the recorded one."""
    return next(iter(years_in(document.title)), document.policy_year)


def topic_of(document: DocumentRef) -> str:
    return _core(_plain(document.title))


def _without_year(title: str) -> str:
    return " ".join(_YEAR_IN_TITLE.sub(" ", title).split()).strip(" -–—,，:：")
