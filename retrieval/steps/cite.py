"""Cite: which passages bear out a sentence of an answer: its citations, whatever the model cited. Verify: each sentence
is held against the passages that it cites; weak ones are marked.

A model's own markers ([1], [1, 2], 【1】) are a hint: they weigh HINT in the choice, and a passage that says less than
another one is not cited for them. Words are compared as the index has them (stems; Traditional Chinese as Simplified),
numbers by their value. A word that the question holds already weighs little: what a sentence adds is what must stand in
the passage; in choosing among passages the question's words are context, so that a short answer ("EUR 55.") finds the
sentence that was asked for.

When an answer is verified it has been read, so nothing is taken back: weak sentences stand in the step's detail, and
the page underlines them. Only an answer of which no sentence comes near to what its passages say becomes NO_ANSWER. A
number that no passage has makes a statement unsupported whatever words they share; where the question has it, the
statement is weak. Where the setting says so, the fast model is asked as well, in one call for all sentences: it can
find a sentence unsupported, never supported. See docs/decisions/0005-grounding.md.

Numbers are compared as values, in digits, in Chinese numerals, and spelt out in English: "1,000", 1000, 一千 and "one
thousand" are one number; a date is its year, month and day. Units are not read.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import cn2an
from pydantic import BaseModel

from ragsite.core.wording import joined, worded
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import Embedder, Models, Vectors
from retrieval.providers.chat import exactly
from retrieval.steps.step import Deps, step, try_call
from retrieval.text.analysis import analyze, detect_language, held_share, query_terms, rarity, to_simplified
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.statements import (
    Statement,
    ends_in_abbreviation,
    headed_statements_of,
    is_delimiter_row,
    is_row,
    leading_signs,
    sentence_spans,
)
from retrieval.trace import degrade, note, skip
from retrieval.values import Answer, GroundedSentence, SentenceEvidence, Source, StoredChunk

# ------------------------------------------------------------------------------------------------ numbers
NUMBERS_READ_CHARS = 20_000  # of a text that are read
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DATE = re.compile(r"(?<![\d.])(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?![\d.]\d)")
_NUMERAL = "零〇一二两三四五六七八九十百千万亿"
_FIGURE = re.compile(rf"\d+(?:\.\d+)?[百千万亿]{{0,2}}|[{_NUMERAL}]{{1,12}}(?:点[零〇一二三四五六七八九]{{1,6}})?")
_PARTS_OF_WORDS = frozenset("一十百千万亿")  # 一般, 十分, 千万: numerals that are seldom amounts when they stand alone
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELT = (
    {word: value for value, word in enumerate(_SMALL.split())}
    | {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
    | {"a": 1, "an": 1, "once": 1, "twice": 2, "first": 1, "second": 2, "third": 3, "half": 0.5, "dozen": 12}
)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_MONTHS = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)  # noqa: SIM905
}
_LATIN = re.compile(r"[a-z]+")


def stated_numbers(text: str) -> dict[float, str]:
    """Each value that a statement clearly gives, as it is written. Zero says nothing: it is a part of 9:00."""
    found: dict[float, str] = {}
    for written in _FIGURE.findall(_DATE.sub(r"\1 \2 \3", _plain(text))):
        value = _value(written)
        if value and written not in _PARTS_OF_WORDS:
            found.setdefault(value, written)
    return found


@lru_cache(maxsize=4096)
def known_numbers(text: str) -> frozenset[float]:
    """All values that a text may be taken to give: also English words, and the numbers of months."""
    plain = _plain(text[:NUMBERS_READ_CHARS])
    digits = (_value(written) for written in _FIGURE.findall(_DATE.sub(r"\1 \2 \3", plain)))
    words = _LATIN.findall(plain.lower())
    months = (_MONTHS[word[:3]] for word in words if word[:3] in _MONTHS)
    return frozenset({value for value in digits if value is not None} | set(_spelt(words)) | set(months))


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", to_simplified(unicodedata.normalize("NFKC", text)))


def _spelt(words: Iterable[str]) -> Iterable[float]:
    """Of "twenty five thousand" 20, 25 and 25,000."""
    value = 0.0
    for word in words:
        if word in _SCALES:
            value = min((value or 1) * _SCALES[word], 1e15)
        elif word in _SPELT:
            value = value + _SPELT[word] if value >= 20 and _SPELT[word] < 20 else _SPELT[word]
        elif word != "and":
            value = 0.0
        if value:
            yield value


@lru_cache(maxsize=4096)
def _value(written: str) -> float | None:
    """五千 → 5000, 二〇二五 → 2025, 5万 → 50000, "12" → 12; None: 百 alone, or a run that is no number."""
    try:
        return float(written) if written.isascii() else float(cn2an.cn2an(written, "smart"))
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------ markers
MARKER = r"[\[【]\s*+\d{1,3}(?:\s*+[,，、;；]\s*+\d{1,3})*+\s*+[\]】]"
OPEN_MARKER = re.compile(r"[\[【][\d\s,，、;；]*\Z")  # what may become one when more of it comes
_WITH_BLANKS = re.compile(rf"(?<![ \t])[ \t]*+{MARKER}")
_NUMBER = re.compile(r"\d+")
_CITED = re.compile(r"\[(\d+)\]")
QUESTION_SHARE = 0.15  # of its weight that a word keeps which the question holds already
NEIGHBOUR_GAIN = 0.2  # share of the weight that the next sentence must add to be evidence as well
MAX_SENTENCES = 200  # of a passage
HINT = 0.06  # what the model's own marker adds to a passage's score
CONTEXT = 0.15  # what the question's words in the nearest sentence add at most
RANK = 0.002  # what each place further down the ranking takes away: it tells equal passages apart
NUMBERS = 0.5  # share of the score that a sentence's numbers make up, where it has any
NEAR = 0.3  # share of its weight from which a sentence cites its nearest passage
ALIKE = 0.05  # how far below the best one a passage may be that the model cited as well
JOIN = 0.2  # share of the sentence's weight that another passage must add, half of it where the model cited it
MOST = 3  # passages that one sentence cites
COSINE_ALIKE = 0.05  # how far below the nearest one's cosine a passage may be that the model cited
EMBEDDING_TIMEOUT_S = 2.0
EMBEDDER_IS_SLOW = worded("no result within {timeout_s:.1f} s", timeout_s=EMBEDDING_TIMEOUT_S)
Align = Callable[[str, Collection[int]], Awaitable[Sequence[int]]]  # (sentence, the model's markers) → ours

MAX_HELD = 240  # characters that are held back at most
MOST_TERMS = 1  # before a marker that the sentence is built on
_WORD = re.compile(r"[^\W_]")
_PLAIN = re.compile(r"[^.!?。！？；…\s\[【|]+")
_DIGIT = re.compile(r"\d")
# Markers, a stop with what closes around it, markers behind it ("55 [1]. [2]."), a row's last bar, and a line's end.
_BOUNDARY = re.compile(
    rf"(?P<before>(?:[ \t]*+{MARKER})*+)(?P<blank>[ \t]*+)"
    r"(?P<stop>(?:[.!?。！？；…]++[”’」』】》）\"')\]*_`]*+)?)"
    rf"(?P<behind>(?:[ \t]*+{MARKER}[.!?。！？；…]*+)*+)(?P<bar>(?:[ \t]*+\|)?)(?P<gap>\s*+)"
)
_EAST_ASIAN_STOP = re.compile(r"[。！？；…]")
_LIST_NUMBER = re.compile(r"\s*\d{1,3}")
_FENCE = ("```", "~~~")
_ASKS = ("?", "？")
_ANNOUNCES = (":", "：")


def without_markers(text: str) -> str:
    """The answer as a model may read it: citations are the site's."""
    return _WITH_BLANKS.sub("", text)


def cited_markers(text: str) -> set[int]:
    return {int(number) for number in _CITED.findall(text)}


def numbers_of(markers: str) -> list[int]:
    """[2, 9] → 2, 9."""
    return [int(number) for number in _NUMBER.findall(markers)]


# ------------------------------------------------------------------------------------------------ overlap


@dataclass(frozen=True, slots=True)
class Place:
    """`text[start:end]` of a passage: one sentence, or two neighbours. terms: their words, and their numbers as #7."""

    start: int
    end: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of a statement and a passage. near: the share of the statement's weight, 0..1, in the best two neighbouring
    sentences; whole: in the passage with its title. place: where most of it stands."""

    near: float
    whole: float
    place: Place


def overlap(weights: Mapping[str, float], passage: StoredChunk) -> Overlap:
    """`weights`: see `statement_weights`. What stands beside the text counts for every sentence."""
    beside, sentences = terms_beside(passage), sentences_of(passage.text)
    pairs = [
        Place(one.start, other.end, one.terms | other.terms)
        for one, other in zip(sentences, (*sentences[1:], sentences[-1]), strict=True)
    ]
    alone, paired = ([held_share(weights, place.terms | beside) for place in places] for places in (sentences, pairs))
    best = max(range(len(sentences)), key=lambda at: (round(alone[at], 6), -at))
    pair = max(range(max(0, best - 1), best + 1), key=lambda at: paired[at])
    place = pairs[pair] if paired[pair] - alone[best] >= NEIGHBOUR_GAIN else sentences[best]
    return Overlap(max(paired), held_share(weights, passage_terms(passage)), place)


def statement_weights(
    statement: str, question: str, passages: Sequence[StoredChunk], *, number_share: float
) -> dict[str, float]:
    """What each of the statement's words weighs, more where few of the passages hold it (one that none holds,
    as one that one holds); its numbers have `number_share` of the whole."""
    held = [passage_terms(passage) for passage in passages]
    old_terms = frozenset(query_terms(question))
    weights = {
        term: rarity(max(1, sum(term in terms for terms in held)), len(held))
        * (QUESTION_SHARE if term in old_terms else 1.0)
        for term in query_terms(statement)
        if not term.isnumeric()  # they are looked up by their value
    }
    numbers = stated_numbers(statement)
    each = number_share / (1 - number_share) * (sum(weights.values()) or 1.0) / (len(numbers) or 1)
    return weights | {number_term(value): each for value in numbers}


def passage_terms(passage: StoredChunk) -> frozenset[str]:
    return _terms(passage.text) | terms_beside(passage)


def terms_beside(passage: StoredChunk) -> frozenset[str]:
    facts = (passage.title, passage.heading, passage.department, passage.doc_type, passage.file_name, passage.published)
    return _terms("\n".join((*facts, str(passage.policy_year or ""), str(passage.page or ""))))


def number_term(value: float) -> str:
    return f"#{value:.12g}"


def same_language(left: str, right: str) -> bool:
    """Simplified and Traditional Chinese are one; a text without letters fits any."""
    languages = _language_of(left), _language_of(right)
    return "und" in languages or languages[0].split("-")[0] == languages[1].split("-")[0]


@lru_cache(maxsize=1024)
def sentences_of(text: str) -> tuple[Place, ...]:
    """One at least."""
    places = [Place(span.start, span.end, _terms(span.text)) for span in sentence_spans(text)[:MAX_SENTENCES]]
    return tuple(places) or (Place(0, 0, frozenset()),)


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset({*analyze(text), *map(number_term, known_numbers(text))})


_language_of = lru_cache(maxsize=1024)(detect_language)


# ------------------------------------------------------------------------------------------------ align


def align(statement: str, sources: Sequence[Source], *, question: str, hints: Collection[int] = ()) -> tuple[int, ...]:
    """Markers of the passages that bear it out, ascending; empty where none is near.

    A sentence in another language than its passages, or too short to be looked up, keeps the model's own markers.
    """
    hinted = sorted({source.marker for source in sources}.intersection(hints))[:MOST]
    readable = [source for source in sources if same_language(statement, source.chunk.text)]
    chunks = {source.marker: source.chunk for source in readable}
    weights = statement_weights(statement, question, list(chunks.values()), number_share=NUMBERS)
    if not readable or not weights:
        return tuple(hinted)
    found = {marker: overlap(weights, chunk) for marker, chunk in chunks.items()}
    context = dict.fromkeys(query_terms(question), 1.0)
    scores: dict[int, float] = {}
    for rank, source in enumerate(sorted(readable, key=lambda source: -(source.scores.final or 0.0))):
        one = found[source.marker]
        scores[source.marker] = (
            0.7 * one.near
            + 0.3 * one.whole
            + CONTEXT * held_share(context, one.place.terms)
            + HINT * (source.marker in hinted)
            - RANK * rank
        )
    best, *others = sorted(scores, key=lambda marker: -scores[marker])
    if found[best].near < NEAR:
        return ()
    cited, held = [best], passage_terms(chunks[best])
    for marker in others:
        gain = held_share(weights, held | found[marker].place.terms) - held_share(weights, held)
        is_alike = marker in hinted and scores[marker] >= scores[best] - ALIKE
        if len(cited) < MOST and (is_alike or gain >= (JOIN / 2 if marker in hinted else JOIN)):
            cited.append(marker)
            held |= passage_terms(chunks[marker])
    return tuple(sorted(cited))


class Aligner:
    """`align` for the sentences of one answer. A sentence in another language than all its passages cites what is
    nearest by vectors, where an embedding model answers in time."""

    def __init__(self, sources: Sequence[Source], *, question: str, models: Models | None = None) -> None:
        self._sources = sources
        self._question = question
        self._models = models
        self._vectors: Vectors | None = None  # of the passages
        self.failure = ""  # why vectors could not be had

    async def __call__(self, sentence: str, hints: Collection[int]) -> Sequence[int]:
        readable = any(same_language(sentence, source.chunk.text) for source in self._sources)
        if self._models and self._sources and not readable:
            try:
                async with asyncio.timeout(EMBEDDING_TIMEOUT_S):
                    embedder = await self._models.default_embedder()
                    if embedder.space.semantic:
                        return await self._nearest(embedder, sentence, hints)
            except (EmbeddingUnavailableError, TimeoutError) as error:
                self._models, self.failure = None, getattr(error, "reason", "") or EMBEDDER_IS_SLOW
        return await asyncio.to_thread(align, sentence, self._sources, question=self._question, hints=hints)

    async def _nearest(self, embedder: Embedder, sentence: str, hints: Collection[int]) -> Sequence[int]:
        if self._vectors is None:
            self._vectors = await embedder.embed_documents([source.chunk.text for source in self._sources])
        cosines = self._vectors @ (await embedder.embed_queries([sentence]))[0]
        nearest = int(cosines.argmax())
        return [
            source.marker
            for at, (source, cosine) in enumerate(zip(self._sources, cosines, strict=True))
            if at == nearest or (source.marker in hints and cosine >= cosines[nearest] - COSINE_ALIKE)
        ][:MOST]


# ------------------------------------------------------------------------------------------------ while it streams


class CitedStream:
    """Takes pieces of an answer, gives back what may be sent, citations included: of each sentence the moment it is
    complete.

    The text of a sentence goes on at once; what ends it (a full stop, the blanks behind it) waits for the next
    character, since that tells whether it was the end. The model's own markers are taken out and handed over as hints;
    one before which a sentence says nothing yet stays, as the sentence is built on it ("According to [2], …"). What
    goes out is never taken back. A heading, code and a table's head have no citations.
    All pieces put together give the same text however they are cut.
    """

    def __init__(self, align: Align, *, markers: Collection[int] = ()) -> None:
        """`align` is awaited once for each sentence. markers: those of the answer's passages."""
        self._align = align
        self._markers = markers
        self._held = ""
        self._sentence = ""  # so far, without markers
        self._hints: list[int] = []  # the model's markers in it
        self._line = ""  # the current line so far, without markers
        self._fenced = self._after_row = False
        self._whole = True

    def begin(self, text: str, *, sentence: str) -> None:
        """Go on behind this text. sentence: the one that it breaks off in; its citations are set when it ends."""
        lines = text.split("\n")
        self._fenced = sum(line.lstrip().startswith(_FENCE) for line in lines) % 2 == 1
        self._line, self._sentence = without_markers(lines[-1]), sentence
        self._after_row = len(lines) > 1 and is_row(lines[-2])

    async def feed(self, piece: str) -> str:
        self._held += piece
        return await self._read(last=False)

    async def finish(self, *, whole: bool = True) -> str:
        """What was held back; the beginning of a marker that never ended is dropped. whole: False of a text that broke
        off; the sentence that it broke off in is not cited, as it may go on."""
        self._whole = whole
        rest = await self._read(last=True)
        return (rest + (await self._citations("", last=True) if whole else "")).rstrip()

    # -------------------------------------------------------------------------------------------- reading
    async def _read(self, *, last: bool) -> str:
        out: list[str] = []
        while self._held:
            if self._fenced or self._line.lstrip().startswith(_FENCE):
                out.append(self._code())
            elif plain := _PLAIN.match(self._held):
                out.append(self._take(plain.end()))
            elif (piece := await self._boundary(last=last)) is not None:
                out.append(piece)
            else:
                break
        return "".join(out)

    def _code(self) -> str:
        end = self._held.find("\n") + 1
        if end and (self._line + self._held[:end]).lstrip().startswith(_FENCE):
            self._fenced = not self._fenced
        text, self._sentence = self._take(end or len(self._held)), ""
        return text

    async def _boundary(self, *, last: bool) -> str | None:
        """What may be sent of the place where a sentence may end; None: more has to come first."""
        found = _BOUNDARY.match(self._held)
        end = found.end() if found else 0
        rest = self._held[end:]
        is_open = bool(OPEN_MARKER.match(rest))
        if not last and (not rest or is_open) and len(self._held) <= MAX_HELD:
            return None
        if is_open and _DIGIT.search(rest):  # the text broke off in a marker
            rest = ""
        if not found or (rest and not end):
            return self._take(1)
        self._held = rest
        hints = numbers_of(found["before"] + found["behind"])
        self._hints += hints
        text = found["blank"] + found["stop"] + found["bar"] + found["gap"]
        if not self._is_end(found, rest[:1]):
            return self._within(found["before"], hints) + self._pass(text)
        citations = await self._citations(found["stop"], last=last and not rest)
        self._pass(text)
        self._sentence = ""
        return citations + text

    def _is_end(self, found: re.Match[str], following: str) -> bool:
        """`following`: the next character; empty where the text is over."""
        stop, gap = found["stop"], found["gap"]
        new_line = "\n" in gap or (not following and (self._whole or bool(stop)))
        if is_row(self._line + found["bar"]):
            return new_line
        wrapped = gap.count("\n") == 1 and following.islower()
        if not stop or not _WORD.search(self._sentence):
            return new_line and not wrapped
        abbreviates = stop == "." and not found["behind"] and following and _is_no_end(self._sentence)
        if abbreviates:
            return new_line and not wrapped
        return bool(_EAST_ASIAN_STOP.search(stop) or found["behind"] or gap) or new_line

    def _within(self, written: str, hints: Sequence[int]) -> str:
        """The markers of passages that the model wrote where the sentence says nothing yet."""
        begun = self._sentence[leading_signs(self._sentence) :].strip()
        selection = [f"[{number}]" for number in hints if number in self._markers]
        if not selection or not _WORD.search(begun) or len(set(query_terms(begun))) > MOST_TERMS:
            return ""
        return (" " if written.startswith((" ", "\t")) else "") + "".join(selection)

    # -------------------------------------------------------------------------------------------- passing on
    def _take(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return self._pass(text)

    def _pass(self, text: str) -> str:
        """Text of the current sentence."""
        self._sentence += text
        *before, self._line = (self._line + text).split("\n")
        if before:
            self._after_row = is_row(before[-1])
        return text

    async def _citations(self, closing: str, *, last: bool) -> str:
        """Of the sentence that has ended: " [1][3]", or nothing. last: of the text, so a colon announces nothing."""
        text = self._sentence[leading_signs(self._sentence) :].strip()
        if not _WORD.search(text):
            return ""
        hints, self._hints = tuple(dict.fromkeys(self._hints)), []
        heads = is_row(self._line) and (not self._after_row or is_delimiter_row(self._line))
        states_nothing = _ASKS if last else (*_ASKS, *_ANNOUNCES)
        if heads or self._line.lstrip().startswith("#") or (text + closing).rstrip("*_ ").endswith(states_nothing):
            return ""
        markers = await self._align(text, hints)
        return " " + "".join(f"[{marker}]" for marker in markers) if markers else ""


def _is_no_end(sentence: str) -> bool:
    """Whether a full stop behind it ends no sentence: of an abbreviation, of a number of a list."""
    return ends_in_abbreviation(sentence + ".") or bool(_LIST_NUMBER.fullmatch(sentence))


# ------------------------------------------------------------------------------------------------ verify
_LEADING_MARKERS = re.compile(rf"(?:\s*+{MARKER})++[\s.,;:，。；]*+")
_MARKER = re.compile(MARKER)
_EMPHASIS = re.compile(r"\*\*|__|[*`~|]")
_STATES_NOTHING = (":", "：", "?", "？")
NUMBERS_CHECKED = 0.2  # share of the score that its numbers make up: to have them says little, to lack one is decisive
MIN_TERMS = 2  # fewer say nothing that could be looked up: "Yes.", "So it is."
REFUTED_CAP = 0.2  # the most that a statement gets with a number that no passage has
WEAK_CAP = 0.4  # and with one that only the question has, or one wrong number beside a right one
NOTHING_SUPPORTED = worded("no passage supports any sentence of the answer")
BASELESS = 0.3  # score below which a sentence is not only weak: another number, or nearly no words in common
MAX_CLAIMS = 40  # of one answer that are checked


@dataclass(frozen=True, slots=True)
class Claim:
    """`answer[start:end]`, without list signs, with its markers. `text`: without markers and markup."""

    text: str
    start: int
    end: int
    markers: tuple[int, ...]


def claims_of(answer: str) -> list[Claim]:
    """In order. Headings, code, questions and lines that introduce a list state nothing."""
    claims = []
    for piece in _pieces(answer):
        text = answer[piece.start : piece.end]
        words = " ".join(_EMPHASIS.sub(" ", without_markers(text)).split())
        states = len(_WORD.findall(words)) > 1 and not words.rstrip("_ ").endswith(_STATES_NOTHING)
        if states and piece.kind != "code":
            markers = tuple(dict.fromkeys(numbers_of("".join(_MARKER.findall(text)))))
            claims.append(Claim(words, piece.start, piece.end, markers))
    return claims


def _pieces(answer: str) -> list[Statement]:
    """Markers after a full stop belong to the sentence before it."""
    pieces: list[Statement] = []
    for piece in headed_statements_of(answer):
        start = piece.start
        leading = _LEADING_MARKERS.match(answer[start : piece.end])
        if leading and pieces and "\n" not in answer[pieces[-1].end : start]:
            pieces[-1] = pieces[-1]._replace(end=start + len(leading[0].rstrip()))
            start += leading.end()
        start += leading_signs(answer[start : piece.end])
        if answer[start : piece.end].strip():
            pieces.append(piece._replace(start=start))
    return pieces


# ------------------------------------------------------------------------------------------------ support


@dataclass(frozen=True, slots=True)
class Support:
    """score: 0..1; None: it can't be checked. reason: for None and for a capped score. places: (index of a passage,
    its sentence or two that are nearest)."""

    score: float | None
    reason: str = ""
    places: tuple[tuple[int, Place], ...] = ()


def support(statement: str, passages: Sequence[StoredChunk], *, question: str) -> Support:
    """How far the passages together support the statement: half by the best place, half by all that they say."""
    readable = {at: passage for at, passage in enumerate(passages) if same_language(statement, passage.text)}
    if not readable:
        return Support(None, worded("the passage is in another language"))
    weights = statement_weights(statement, question, list(readable.values()), number_share=NUMBERS_CHECKED)
    numbers = stated_numbers(statement)
    if len(weights) < MIN_TERMS and not numbers:
        return Support(None, worded("it is too short to be looked up"))
    found = {at: overlap(weights, passage) for at, passage in readable.items()}
    places = tuple((at, one.place) for at, one in found.items() if one.near)
    held = frozenset[str]().union(*map(passage_terms, readable.values()))
    score = 0.5 * max(one.near for one in found.values()) + 0.5 * held_share(weights, held)
    missing = {value: written for value, written in numbers.items() if number_term(value) not in held}
    if not missing:
        return Support(score, places=places)
    written_numbers, question_numbers = joined(", ", missing.values()), known_numbers(question)
    if question_numbers.issuperset(missing):
        return Support(min(score, WEAK_CAP), worded("only the question says it: {told}", told=written_numbers), places)
    cap = WEAK_CAP if numbers.keys() - missing.keys() - question_numbers else REFUTED_CAP
    return Support(min(score, cap), worded("not in the passage: {told}", told=written_numbers), places)


# ------------------------------------------------------------------------------------------------ verify


@step("verify")
async def verify(deps: Deps, answer: Answer, *, question: str) -> Answer:
    """The answer with its `grounding`; its text stays. Never raises a ModelError."""
    settings = deps.settings.verify
    if reason := _not_to_be_checked(answer, enabled=settings.enabled):
        skip(reason)
        return answer
    claims = claims_of(answer.text)[:MAX_CLAIMS]
    grounding = await asyncio.to_thread(
        check_by_words, answer, claims, question, supported_score=settings.supported_score
    )
    if settings.by_model and claims:
        verdicts = await _model_verdicts(deps, answer, claims, question)
        grounding = [
            # A model that is easily pleased proves nothing: it can only lower what the words say.
            sentence
            if supported or sentence.supported is False
            else replace(sentence, supported=False, reason=sentence.reason or worded("the model finds it unsupported"))
            for sentence, supported in zip(grounding, verdicts, strict=True)
        ]
    if answer.partial and grounding and not answer.text[grounding[-1].end :].strip():
        # The sentence that a model broke off in lacks words, and the citation at its end.
        reason = worded("the answer was interrupted in it")
        grounding[-1] = replace(grounding[-1], score=None, supported=None, reason=reason)
    weak = sum(sentence.supported is False for sentence in grounding)
    unchecked = sum(sentence.supported is None for sentence in grounding)
    note(
        "sentences_checked" if grounding else "nothing_stated",
        grounding=[sentence.as_dict() for sentence in grounding],
        good=len(grounding) - weak - unchecked,
        weak=weak,
        unchecked=unchecked,
    )
    answer = replace(answer, grounding=tuple(grounding))
    if grounding and weak == len(grounding) and _is_baseless(answer):
        return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)
    return answer


class CheckedStatements(BaseModel):
    """Whether the passages say so, for each statement in their order; about two tokens a sentence."""

    supported: list[bool]


async def _model_verdicts(deps: Deps, answer: Answer, claims: Sequence[Claim], question: str) -> list[bool]:
    """Of each claim whether the passages that it cites support it, as the fast model says; where it fails, yes."""
    cited = [source for source in answer.sources if source.cited] or answer.sources
    statements = (one_line(claim.text) + "".join(f" [{marker}]" for marker in claim.markers) for claim in claims)
    call = deps.complete(
        "verify",
        exactly(CheckedStatements, "supported", len(claims)),
        passages="\n\n".join(quote_source(source.marker, source.chunk) for source in cited),
        statements="\n".join(f"{number}. {statement}" for number, statement in enumerate(statements, start=1)),
        count=len(claims),
        question=one_line(question),
    )
    reply = await try_call(deps, call, optional=True)
    if reply is not None and len(reply.supported) == len(claims) and (len(claims) == 1 or any(reply.supported)):
        return reply.supported
    if reply is not None:
        degrade("verdicts_missing" if len(reply.supported) != len(claims) else "verdicts_all_no")
    return [True] * len(claims)


def check_by_words(
    answer: Answer, claims: Sequence[Claim], question: str, *, supported_score: float
) -> list[GroundedSentence]:
    """Each claim against the passages that it cites; against all of them where it cites none."""
    by_marker = {source.marker: source.chunk for source in answer.sources}
    checked = []
    for claim in claims:
        cited = {marker: by_marker[marker] for marker in claim.markers if marker in by_marker}
        found = support(claim.text, list((cited or by_marker).values()), question=question)
        supported = None if found.score is None else found.score >= supported_score
        checked.append(
            GroundedSentence(
                sentence=answer.text[claim.start : claim.end],
                start=claim.start,
                end=claim.end,
                markers=tuple(cited),
                score=None if found.score is None else round(found.score, 3),
                supported=supported,
                reason="" if supported else found.reason or worded("the passages hold too few of its words"),
                # Of a sentence that cites nothing there is none to show.
                evidence=tuple(
                    SentenceEvidence(list(cited)[at], place.start, place.end) for at, place in found.places if cited
                ),
            )
        )
    return checked


def _is_baseless(answer: Answer) -> bool:
    if not any(source.cited for source in answer.sources):
        return True
    return all((sentence.score or 0.0) < BASELESS for sentence in answer.grounding)


def _not_to_be_checked(answer: Answer, *, enabled: bool) -> str:
    """The code that says why; empty where it is to be checked."""
    if not enabled:
        return "switched_off"
    if answer.decision != "ANSWER":
        return "no_answer_to_check"
    return "" if answer.model and answer.sources else "quoted_word_by_word"
