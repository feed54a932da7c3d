"""Text analysis: one for indexing, querying, matching and grading, and the same on every backend.

text → NFKC → Traditional folded to Simplified → tokens by script → terms

- Chinese: words by jieba; the index holds character bigrams as well, which survive wrong segmentation.
- Other scripts without spaces (Japanese, Thai …): character bigrams.
- Words with spaces: stop words dropped, Snowball stem of the language that the text shows, accents folded. A text that
  is not English gets the English stem as well, so that a short query that shows no language still matches it.
- Codes and numbers stay whole (`ImagePullBackOff`, `2025-03`, `§12.3`, `ERR_42`) and give their parts too.

A term consists of word characters (`\\w`) in lower case: Milvus Lite's `standard` tokenizer (`\\w+`, lower case) and a
server's `whitespace` tokenizer leave it as it is. Connectors inside codes become `_`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from ragsite.core.text import strip_invisible
from retrieval.engine.text import chinese
from retrieval.engine.text.languages import HAN, HANGUL, KANA, detect_language, to_simplified
from retrieval.engine.text.words import MAX_TERM_CHARS, cleaned, known_word_terms, word_terms

# Sentences are kept, documents are not.
CACHED_CHARS = 600
CACHED_TEXTS = 4096

_UNSPACED = KANA + r"\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"
_TOKEN = re.compile(
    rf"(?P<han>[{HAN}]+)|(?P<unspaced>[{_UNSPACED}]+)|(?P<hangul>[{HANGUL}]+)"
    rf"|(?P<word>(?:(?<![.)\]])\.(?=[A-Za-z]))?(?:(?![{HAN}{_UNSPACED}{HANGUL}])(?:\w|[\u0300-\u036f]))+"
    rf"(?:(?:[._\-\u2010\u2013/@]|(?<=\d)[:,](?=\d))(?:(?![{HAN}{_UNSPACED}{HANGUL}])(?:\w|[\u0300-\u036f]))+)*(?:\+\+|#)?)"
)
_NEGATION = re.compile(r"(?:\b(?:ca|wo))?n['’]t\b", re.IGNORECASE)  # can't, won't, don't
_CLITIC = re.compile(r"['’](?:s|d|m|ll|re|ve)\b", re.IGNORECASE)


def analyze(text: str, *, language: str = "") -> list[str]:
    """The terms of a document's text, as often as they occur. Empty when there are only stop words and symbols.

    language: of the text that this one is a part of; by default what it shows itself.
    """
    return _known_terms(text, chinese.index_terms, language)


def query_terms(text: str, *, language: str = "") -> list[str]:
    """The terms that a question is made of: those of `analyze`, but Chinese by whole words alone. `search_terms` are
    what the index is asked for.

    All of a word's bigrams in a query would outweigh the word: on rgb_zh nDCG@10 of BM25 is .530 with words against an
    index of words and bigrams, .503 with both on both sides, .514 with words and their sub-words on both.
    """
    return _known_terms(text, chinese.words, language)


def search_terms(text: str) -> list[str]:
    """The terms that the index is asked for: `query_terms`, but Chinese that the dictionary does not know as bigrams.

    A name in a question is cut together with what follows it (硕塞是 in 硕塞是谁), or into single characters (津 蓟):
    no such term is in the index, its bigrams are. Of names of two to four characters that the dictionary does not know,
    in nine usual questions, 98 % keep a term that finds them (of words alone 91 %); nDCG@10 of BM25 is 98.9 on
    cmrc2018 (98.5) and 54.4 on rgb_zh (54.2).
    """
    return _known_terms(text, chinese.search_terms)


Word = frozenset[str]


def words_of(text: str, language: str) -> list[Word]:
    """The words of a short text in their order, each as its terms; a stop word has none. Each Chinese or Japanese
    character is a word. language: whose stems its words have beside the English ones."""
    folded = _folded(text)
    shouting = len(folded.split()) > 1 and folded.upper() == folded
    words: list[Word] = []
    for match in _TOKEN.finditer(folded):
        if match.lastgroup == "word":
            words.append(
                frozenset(known_word_terms(match.group()[:MAX_TERM_CHARS], language, shouting))
            )
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
    return " ".join(_terms(text, chinese.field_terms))


def _known_terms(
    text: str, segmented: Callable[[str], Iterable[str]], language: str = ""
) -> list[str]:
    """The steps of an answer look at the same sentences and the same question many times, within milliseconds."""
    if len(text) > CACHED_CHARS:
        return list(_terms(text, segmented, language))
    return list(_cached_terms(text, segmented, language))


@lru_cache(maxsize=CACHED_TEXTS)
def _cached_terms(
    text: str, segmented: Callable[[str], Iterable[str]], language: str
) -> tuple[str, ...]:
    return tuple(_terms(text, segmented, language))


def _terms(
    text: str, segmented: Callable[[str], Iterable[str]], language: str = ""
) -> Iterator[str]:
    folded = _folded(text)
    language = language or detect_language(folded)
    shouting = folded.upper() == folded
    for match in _TOKEN.finditer(folded):
        kind = match.lastgroup
        token = match.group()
        if kind == "word" and len(token) <= MAX_TERM_CHARS:
            yield from known_word_terms(token, language, shouting)
            continue
        if kind == "han":
            terms = segmented(token)
        elif kind == "word":
            terms = word_terms(token, language, shouting)
        else:
            terms = _bigram_terms(token, whole=kind == "hangul")
        yield from filter(None, map(cleaned, terms))


@lru_cache(maxsize=4096)
def terms_of(text: str) -> frozenset[str]:
    """The same chunks come up again and again, within one answer and from one answer to the next."""
    return frozenset(analyze(text))


def warm_up() -> None:
    """Load jieba's tables, OpenCC's dictionaries and py3langid's model now (a second), not in somebody's first
    question."""
    analyze("繁體字和 running 分詞")
    detect_language("running")


def _bigram_terms(run: str, *, whole: bool) -> Iterator[str]:
    if whole and len(run) != 2:
        yield run
    yield from chinese.bigrams(run)
