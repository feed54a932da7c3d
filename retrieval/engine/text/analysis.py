"""Text analysis: one for indexing, querying, matching and grading, and the same on every backend.

text → NFKC → Traditional folded to Simplified → tokens by script → terms

- Chinese: words by jieba; the index holds character bigrams as well, which survive wrong segmentation.
- Other scripts without spaces (Japanese, Thai …): character bigrams.
- Words with spaces: stop words dropped, Snowball stem of the language that the text shows, accents folded. A text that
  is not English gets the English stem as well, so that a short query that shows no language still matches it.
- Codes and numbers stay whole (`ImagePullBackOff`, `2025-03`, `§12.3`, `ERR_42`) and give their parts too.

A term consists of word characters (`\\w`) in lower case: Milvus Lite's `standard` tokenizer (`\\w+`, lower case) and a
server's `whitespace` tokenizer leave it as it is. Connectors inside codes become `_`.
Stop words are those of the two languages that the site speaks; in others their rarity alone tells. They are a weight in
an index, 0 in place of nearly 0, as stems are: nothing else asks for them. Negations stay out of the lists: "not" and
"不" change what is asked.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

from ragsite.core.text import strip_invisible
from retrieval.engine.text.languages import HAN, HAN_CHARACTER, HANGUL, KANA, detect_language, to_simplified

# ------------------------------------------------------------------------------------------------ stop words
# Lucene's list, question words, pronouns and auxiliaries. Prepositions of place and time, and comparatives, carry
# meaning: a longer list that drops "between", "before" and "more" too costs .008 nDCG@10 of BM25 on SciFact.
ENGLISH = frozenset(
    """a am an and are as at be been being but by can could did do does for had has have having he her him his how i if
    in into is it its may me might mine my of on or our please s shall she should such that the their them then there
    these they this to us was we were what when where which who whom why will with would you your yours""".split()  # noqa: SIM905
)

CHINESE = frozenset(
    """的 了 和 与 及 或 是 在 有 为 对 于 从 到 由 以 被 把 让 向 给 将 而 但 也 都 就 又 还 则 其 之 所 者 着 过 地 得
    等 吗 呢 吧 啊 呀 嘛 哪 谁 我 你 您 他 她 它 我们 你们 他们 她们 它们 这 那 这个 那个 这些 那些 这里 那里 哪些 哪个
    哪里 什么 怎么 怎样 如何 为何 为什么 多少 几 请问 请 是否 可以 能否 以及 并且 而且 但是 如果 因为 所以 因此
    或者 关于 对于 根据 按照 通过 一个 一种 一些 是什么 有哪些 会 能 要 个""".split()  # noqa: SIM905
)


# ------------------------------------------------------------------------------------------------ terms
MAX_TERM_CHARS = 64
MAX_CODE_PARTS = 12
MAX_HAN_RUN = 400  # characters without a mark between them that are segmented at once
# Sentences are kept, documents are not.
CACHED_CHARS = 600
CACHED_TEXTS = 4096
CACHED_WORDS = 30_000

_UNSPACED = KANA + r"\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"
_TOKEN = re.compile(
    rf"(?P<han>[{HAN}]+)|(?P<unspaced>[{_UNSPACED}]+)|(?P<hangul>[{HANGUL}]+)"
    rf"|(?P<word>(?:(?<![.)\]])\.(?=[A-Za-z]))?(?:(?![{HAN}{_UNSPACED}{HANGUL}])(?:\w|[\u0300-\u036f]))+"
    rf"(?:(?:[._\-\u2010\u2013/@]|(?<=\d)[:,](?=\d))(?:(?![{HAN}{_UNSPACED}{HANGUL}])(?:\w|[\u0300-\u036f]))+)*(?:\+\+|#)?)"
)
_NOT_WORD = re.compile(r"\W+")
_CONNECTORS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NEGATION = re.compile(r"(?:\b(?:ca|wo))?n['’]t\b", re.IGNORECASE)  # can't, won't, don't
_CLITIC = re.compile(r"['’](?:s|d|m|ll|re|ve)\b", re.IGNORECASE)
_DECIMAL = re.compile(r"v?\d+(?:[.:]\d+)+", re.IGNORECASE)
_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}


def analyze(text: str, *, language: str = "") -> list[str]:
    """The terms of a document's text, as often as they occur. Empty when there are only stop words and symbols.

    language: of the text that this one is a part of; by default what it shows itself.
    """
    return _known_terms(text, _chinese_index_terms, language)


def query_terms(text: str, *, language: str = "") -> list[str]:
    """The terms that a question is made of: those of `analyze`, but Chinese by whole words alone. `search_terms` are
    what the index is asked for.

    All of a word's bigrams in a query would outweigh the word: on rgb_zh nDCG@10 of BM25 is .530 with words against an
    index of words and bigrams, .503 with both on both sides, .514 with words and their sub-words on both.
    """
    return _known_terms(text, _chinese_words, language)


def search_terms(text: str) -> list[str]:
    """The terms that the index is asked for: `query_terms`, but Chinese that the dictionary does not know as bigrams.

    A name in a question is cut together with what follows it (硕塞是 in 硕塞是谁), or into single characters (津 蓟):
    no such term is in the index, its bigrams are. Of names of two to four characters that the dictionary does not know,
    in nine usual questions, 98 % keep a term that finds them (of words alone 91 %); nDCG@10 of BM25 is 98.9 on
    cmrc2018 (98.5) and 54.4 on rgb_zh (54.2).
    """
    return _known_terms(text, _chinese_search_terms)


def held_terms(terms: Iterable[str]) -> list[str]:
    """The shorter words that Chinese words of `search_terms` hold, by jieba's search mode: 加班 of 加班费. The index
    has them beside the words."""
    held: list[str] = []
    for term in terms:
        if len(term) > 2 and HAN_CHARACTER.match(term):
            held += [word for word in _segmenter().lcut_for_search(term) if word != term and word not in CHINESE]
    return held


Word = frozenset[str]


def words_of(text: str, language: str) -> list[Word]:
    """The words of a short text in their order, each as its terms; a stop word has none. Each Chinese or Japanese
    character is a word. language: whose stems its words have beside the English ones."""
    folded = _folded(text)
    shouting = len(folded.split()) > 1 and folded.upper() == folded
    words: list[Word] = []
    for match in _TOKEN.finditer(folded):
        if match.lastgroup == "word":
            words.append(frozenset(_known_word(match.group()[:MAX_TERM_CHARS], language, shouting)))
        else:
            words += map(frozenset, match.group())
    return words


def _folded(text: str) -> str:
    """NFKC, Simplified, without what no reader sees, contractions and possessives."""
    seen = to_simplified(unicodedata.normalize("NFKC", strip_invisible(text)))
    return _CLITIC.sub("", _NEGATION.sub(" not", seen))


def terms_text(text: str) -> str:
    """What the index's `terms` field holds, separated by spaces: `analyze`, and each Chinese character by itself.

    People type 删 and 忘 where documents have 删除 and 忘记: with the characters BM25 finds the right document among
    the first 8 for .75 of the questions of realistic_tidb_zh (.72 without), nDCG@10 is 53.6 on rgb_zh (53.2).
    """
    return " ".join(_terms(text, _chinese_field_terms))


def _known_terms(text: str, chinese: Callable[[str], Iterable[str]], language: str = "") -> list[str]:
    """The steps of an answer look at the same sentences and the same question many times, within milliseconds."""
    if len(text) > CACHED_CHARS:
        return list(_terms(text, chinese, language))
    return list(_cached_terms(text, chinese, language))


@lru_cache(maxsize=CACHED_TEXTS)
def _cached_terms(text: str, chinese: Callable[[str], Iterable[str]], language: str) -> tuple[str, ...]:
    return tuple(_terms(text, chinese, language))


def _terms(text: str, chinese: Callable[[str], Iterable[str]], language: str = "") -> Iterator[str]:
    folded = _folded(text)
    language = language or detect_language(folded)
    shouting = folded.upper() == folded
    for match in _TOKEN.finditer(folded):
        kind = match.lastgroup
        token = match.group()
        if kind == "word" and len(token) <= MAX_TERM_CHARS:
            yield from _known_word(token, language, shouting)
            continue
        if kind == "han":
            terms = chinese(token)
        elif kind == "word":
            terms = _word_terms(token, language, shouting)
        else:
            terms = _bigram_terms(token, whole=kind == "hangul")
        yield from filter(None, map(_clean, terms))


def term_weights(question: str, pool: Sequence[Set[str]]) -> dict[str, float]:
    """The question's terms and what each weighs: inverse document frequency among the texts of `pool`.

    A term that none of them holds weighs most: that is how a question which the documents don't answer shows itself.
    """
    terms = dict.fromkeys(query_terms(question))
    return {term: rarity(sum(term in held for held in pool), len(pool)) for term in terms}


def rarity(holding: float, texts: int) -> float:
    """Inverse document frequency of a term that `holding` of `texts` texts have: above 0, the highest for none."""
    return math.log(1 + (texts + 1) / (holding + 0.5))


def held_share(weights: Mapping[str, float], terms: Set[str]) -> float:
    """The share, 0..1, of the weight that is among `terms`."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0


@lru_cache(maxsize=4096)
def terms_of(text: str) -> frozenset[str]:
    """The same chunks come up again and again, within one answer and from one answer to the next."""
    return frozenset(analyze(text))


def warm_up() -> None:
    """Load jieba's tables, OpenCC's dictionaries and py3langid's model now (a second), not in somebody's first
    question."""
    analyze("繁體字和 running 分詞")
    detect_language("running")


# ------------------------------------------------------------------------------------------------ East Asian
def _chinese_words(run: str) -> list[str]:
    return [word for part in _parts(run) for word in _segmenter().lcut(part) if word not in CHINESE]


def _chinese_search_terms(run: str) -> Iterator[str]:
    """Words of the dictionary as they are. Single characters and guessed words that stand beside each other may be one
    name, cut wrongly: all of it as bigrams, and the single characters as well."""
    known = _segmenter().FREQ
    loose: list[str] = []
    for word in (word for part in _parts(run) for word in _segmenter().lcut(part)):
        if word not in CHINESE and (len(word) == 1 or not known.get(word)):
            loose.append(word)
            continue
        yield from _loose_terms(loose)
        loose = []
        if word not in CHINESE:
            yield word
    yield from _loose_terms(loose)


def _loose_terms(pieces: Sequence[str]) -> Iterator[str]:
    """The index holds no bigram with a stop word in it; a name of which nothing else is left may be a word of its."""
    span = "".join(pieces)
    yield from (piece for piece in pieces if len(piece) == 1)
    if len(span) > 1:
        yield from [pair for pair in _bigrams(span) if _is_indexed(pair)] or _bigrams(span)


def _is_indexed(pair: str) -> bool:
    return pair[0] not in CHINESE and pair[1] not in CHINESE


def _chinese_index_terms(run: str) -> Iterator[str]:
    """Words, the words within long words, and bigrams: a query's word matches however the text was cut."""
    for part in _parts(run):
        yield from (word for word in _segmenter().lcut_for_search(part) if word not in CHINESE)
    if len(run) > 1:
        yield from filter(_is_indexed, _bigrams(run))


def _chinese_field_terms(run: str) -> Iterator[str]:
    yield from _chinese_index_terms(run)
    if len(run) > 1:
        yield from (char for char in run if char not in CHINESE)


def _parts(run: str) -> Iterator[str]:
    """The segmenter takes quadratic time; Chinese that means something has punctuation long before."""
    return (run[start : start + MAX_HAN_RUN] for start in range(0, len(run), MAX_HAN_RUN))


def _bigram_terms(run: str, *, whole: bool) -> Iterator[str]:
    if whole and len(run) != 2:
        yield run
    yield from _bigrams(run)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) < 2:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


# ------------------------------------------------------------------------------------------------ words and codes
@lru_cache(maxsize=CACHED_WORDS)
def _known_word(token: str, language: str, shouting: bool) -> tuple[str, ...]:
    """Texts say the same words again and again."""
    return tuple(filter(None, map(_clean, _word_terms(token, language, shouting))))


def _word_terms(token: str, language: str, shouting: bool) -> Iterator[str]:
    token = _THOUSANDS.sub("", token)
    if token.isalpha() and token[1:].islower():  # by far the most frequent case
        yield from _stems(token.lower(), language)
        return
    whole = _whole_code(token)
    if whole:
        yield whole
    if _DECIMAL.fullmatch(token):
        return
    parts = [part for piece in _CONNECTORS.split(token) for part in _CAMEL.split(piece) if part]
    for part in parts[:MAX_CODE_PARTS]:
        term = part.lower()
        if term == whole:
            continue
        if part.isupper() and len(part) > 1 and not shouting:
            yield _fold_accents(term)  # an acronym: never a stop word (WHO, IT), never stemmed
        else:
            yield from _stems(term, language)


def _whole_code(token: str) -> str:
    """The token as one term when it is a code or a number: has a digit, an underscore, a dot or inner capitals, or ends
    in ++ or #."""
    if token.endswith(("++", "#")):
        return token.lower().replace("++", "_plus_plus").replace("#", "_sharp")
    if token.startswith("."):  # .NET, .env
        return "dot_" + _CONNECTORS.sub("_", token[1:].lower())
    inner = token[1:]
    is_code = (
        any(char.isdigit() for char in token)
        or any(connector in inner for connector in "_.@")
        or ("-" in inner and token.isupper())
        or bool(_CAMEL.search(token) and not token.isupper())
    )
    return _CONNECTORS.sub("_", token.lower()).strip("_") if is_code else ""


def _stems(word: str, language: str) -> Iterator[str]:
    if word in ENGLISH and (language == "en" or language not in _STEMMERS):
        return
    if not word.isalpha():
        yield word
        return
    own = _stem(word, language if language in _STEMMERS else "en")
    yield own
    if language in _STEMMERS and language != "en":
        english = _stem(word, "en")
        if english != own:
            yield english


_stemming = threading.Lock()


@lru_cache(maxsize=100_000)
def _stem(word: str, language: str) -> str:
    if language == "en":
        word = _fold_accents(word)
    with _stemming:  # a stemmer keeps its state in itself
        return _fold_accents(_stemmer(language).stemWord(word))


@lru_cache(maxsize=len(_STEMMERS))
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(_STEMMERS[language])


def _fold_accents(term: str) -> str:
    """résumé → resume; letters of other scripts keep their marks' base."""
    if term.isascii():
        return term
    return "".join(char for char in unicodedata.normalize("NFKD", term) if not unicodedata.combining(char))


def _clean(term: str) -> str:
    """Lower case and word characters alone, also where Unicode's lower-casing adds a mark."""
    if term.isascii() and term.isalnum():
        return term.lower()[:MAX_TERM_CHARS]
    return _NOT_WORD.sub("", term.lower())[:MAX_TERM_CHARS]


_loading = threading.Lock()


def _segmenter() -> Any:
    with _loading:
        return _load_segmenter()


@lru_cache(maxsize=1)
def _load_segmenter() -> Any:
    """jieba with its own dictionary, read without the cache that it keeps in /tmp, where anybody could have put it."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
