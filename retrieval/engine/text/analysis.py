"""Text analysis: one for indexing, querying, matching and grading, and the same on every backend.

text → NFKC → Traditional folded to Simplified → tokens by script → terms

- Chinese: words by jieba; the index holds character bigrams as well, which survive wrong segmentation.
- Other scripts without spaces (Japanese, Thai …): character bigrams.
- Words with spaces: stop words dropped, Snowball stem of the detected language, accents folded. A text that is not
  English gets the English stem as well, so that a short query whose language can't be detected still matches it.
- Codes and numbers stay whole (`ImagePullBackOff`, `2025-03`, `§12.3`, `ERR_42`) and give their parts too.

A term consists of word characters (`\\w`) in lower case: Milvus Lite's `standard` tokenizer (`\\w+`, lower case) and a
server's `whitespace` tokenizer leave it as it is. Connectors inside codes become `_`.
Stop words are those of the two languages that the site speaks; in others their rarity alone
tells. Negations stay out of the lists: "not" and "不" change what is asked.

A text's language is decided by script first, then, within the Latin script, by function words: cheap, deterministic,
good enough to choose a stemmer and a prompt's language. English is the default for Latin text.

An answer is in the language of its question, and in its script: Traditional stays Traditional, Simplified Simplified.
Small models fall back to the script that they have seen most. Text is converted clause by clause, as it streams: a
character's form depends on its neighbours (头发 頭髮, 发生 發生). `phrases.json` has the sentences that the site itself
says in an answer. One that leads into what follows ends in a colon: it states nothing that passages would have to bear
out.
"""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from ragsite.core.text import encodable, strip_invisible

SAMPLE_CHARS = 4000  # the beginning of a text is enough to detect its language
UNKNOWN = "und"  # ISO 639: no letters to judge by

HAN = r"\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HAN_CHARACTER = re.compile(f"[{HAN}]")
HANGUL = r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_SCRIPTS = {
    "han": HAN_CHARACTER,
    "kana": re.compile(f"[{KANA}]"),
    "ko": re.compile(f"[{HANGUL}]"),
    "ru": re.compile(r"[\u0400-\u052f]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
}
_LATIN_WORD = re.compile(r"[a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff]+")
LATIN_CHARS_PER_WORD = 2.0  # what a Latin word weighs against one Han character: both carry about a word's meaning

# Function words that are frequent in one of these languages and rare in the others.
_FUNCTION_WORDS = {
    "en": "the of and to in is that for it with as was on are by this be from at which or what how who when does can",
    "de": "der die und das den von zu mit ist des im für auf nicht eine ein dem auch als wie wird sind welche wer wann"
    " wurde wurden werden hat haben kann sich nach bei oder zum zur vom am um bis ab ihr sie wir",
    "fr": "le les des et est une du dans qui que pour au pas sur ce avec sont par aux quelle quel comment où",
    "es": "el los las y en que por una del con para su al es lo como más qué cuál cómo dónde cuándo",
    "it": "il di che è la per un in una sono del della con non le dei nel alla gli come quale quando",
    "pt": "o os as e de do da que em um uma para com não na no por mais dos como são qual quando onde",
    "nl": "de het een van en is dat op te zijn voor met niet aan er om ook wordt welke hoe wat",
    "sv": "och att det som en på är av för den med till inte om ett har de vad hur",
}
# Letters that speak for one of them as a function word does.
_LETTERS = {
    language: frozenset(letters)
    for language, letters in {"de": "äüß", "fr": "çœêëîû", "es": "ñ¿¡", "it": "ìò", "pt": "ãõ", "sv": "å"}.items()
}
_VOTES: dict[str, tuple[str, ...]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in _words.split():
        _VOTES[_word] = (*_VOTES.get(_word, ()), _language)


def detect_language(text: str) -> str:
    """`en`, `zh-hans`, `zh-hant`, `ja`, another ISO 639-1 code, or `und` for a text without letters."""
    sample = text[:SAMPLE_CHARS]
    if sample.isascii():  # most texts; every sentence of them is asked about
        words = _LATIN_WORD.findall(sample.lower())
        return _latin_language(words) if words else UNKNOWN
    sample = unicodedata.normalize("NFKC", sample)
    counts = {script: len(pattern.findall(sample)) for script, pattern in _SCRIPTS.items()}
    words = _LATIN_WORD.findall(sample.lower())
    east_asian = counts["han"] + counts["kana"]
    others = {script: counts[script] for script in counts if script not in ("han", "kana")}
    best_other = max(others, key=lambda script: others[script])
    if not (east_asian or words or others[best_other]):
        return UNKNOWN
    if east_asian >= max(len(words) * LATIN_CHARS_PER_WORD * 0.5, others[best_other]):
        # Japanese prose is about half kana; a Chinese text may quote a Japanese name.
        return "ja" if counts["kana"] > 0.1 * east_asian else chinese_variant(sample)
    if others[best_other] > sum(map(len, words)):
        return best_other
    return _latin_language(words)


def chinese_variant(text: str) -> str:
    """`zh-hant` when more characters are Traditional-only than Simplified-only, else `zh-hans`."""
    traditional = _changed(text, converted(text, "t2s"))
    if not traditional:
        return "zh-hans"
    return "zh-hant" if traditional > _changed(text, converted(text, "s2t")) else "zh-hans"


def to_simplified(text: str) -> str:
    """Traditional characters folded to Simplified; for matching, never for showing."""
    return converted(text, "t2s") if HAN_CHARACTER.search(text) else text


def _changed(before: str, after: str) -> int:
    if len(before) != len(after):  # a phrase was replaced by one of another length: positions no longer correspond
        return sum((Counter(before) - Counter(after)).values())
    return sum(1 for left, right in zip(before, after, strict=True) if left != right)


def _latin_language(words: list[str]) -> str:
    votes = Counter(language for word in words if word in _VOTES for language in _VOTES[word])
    text = "".join(words)
    if not text.isascii():
        letters = set(text)
        for language, own in _LETTERS.items():
            votes[language] += len(letters & own)
    if not votes:
        return "en"
    best, count = votes.most_common(1)[0]
    return best if count >= 2 and count > votes["en"] else "en"


_loading = threading.Lock()


def converted(text: str, config: str) -> str:
    """By OpenCC: `s2t`, `s2tw`, `t2s`. A lone surrogate, which has no UTF-8 form, becomes a question mark."""
    with _loading:  # its dictionaries take a moment and are loaded at the first use, once
        converter = _load_converter(config)
    return str(converter.convert(encodable(text)))


@lru_cache(maxsize=4)
def _load_converter(config: str) -> Any:
    import opencc

    return opencc.OpenCC(config)


# ------------------------------------------------------------------------------------------------ of an answer
Language = Literal["en", "zh-hans", "zh-hant", "other"]

# Traditional as Taiwan's standard has it: without it (`s2t`) 核准 becomes 覈准, 吃 喫 and 群 羣, which nobody writes.
_CONFIGS = {"zh-hans": "t2s", "zh-hant": "s2tw"}
# Simplified forms that are words of their own in Traditional text: no sign of the other script.
_BOTH = frozenset("后里台干面系只余于谷征制准范丑卜仆冲出叶斗曲朴松板沈洒淀胡症致舍须郁钟才几了云吁回")
_OPEN_CLAUSE = re.compile(rf"(?<![{HAN}])[{HAN}]+\Z")
PHRASES = Path(__file__).with_name("phrases.json")
MAX_HELD = 24  # characters of a clause that is waited for


def answer_language(question: str, *, earlier: Iterable[str] = (), reader: str = "") -> Language:
    """Languages that we have no phrases in are "other". It chooses our own words and the Chinese script; a model is
    asked for the language of the question.

    A question whose characters are those of both Chinese scripts (押金是多少) is in that of the questions before it
    (`earlier`, the newest first), or else in that of its reader's pages (`reader`, e.g. "zh-hant").
    """
    match detect_language(question):
        case "en" | "und":
            return "en"
        case "zh-hans" | "zh-hant":
            shown = (_script_shown(text[:SAMPLE_CHARS]) for text in chain((question,), earlier))
            return next(filter(None, shown), "zh-hant" if reader == "zh-hant" else "zh-hans")
    return "other"


def phrase(which: str, language: Language, /, **values: object) -> str:
    return _phrases()[which]["en" if language == "other" else language].format(**values)


@lru_cache(maxsize=1)
def _phrases() -> dict[str, dict[str, str]]:
    phrases: dict[str, dict[str, str]] = json.loads(PHRASES.read_text(encoding="utf-8"))
    return phrases


def _script_shown(text: str) -> Language | None:
    """The script of a Chinese text; None where nothing in it tells."""
    if detect_language(text) not in _CONFIGS or text == converted(text, "t2s") == converted(text, "s2t"):
        return None
    return "zh-hant" if chinese_variant(text) == "zh-hant" else "zh-hans"


def in_script_of(text: str, language: Language) -> str:
    """A quoted Chinese sentence in the script of the question, Simplified or Traditional."""
    if language not in _CONFIGS or detect_language(text) not in _CONFIGS or chinese_variant(text) == language:
        return text
    return converted(text, _CONFIGS[language])


class ScriptKeeper:
    """Takes pieces of an answer and gives them back in the script of `language`; other languages pass through."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._held = ""

    def feed(self, piece: str) -> str:
        if self._language not in ("zh-hans", "zh-hant"):
            return piece
        text = self._held + piece
        cut = _OPEN_CLAUSE.search(text)
        start = cut.start() if cut and len(text) - cut.start() <= MAX_HELD else len(text)
        self._held = text[start:]
        return in_script(text[:start], self._language)

    def finish(self) -> str:
        held, self._held = self._held, ""
        return in_script(held, self._language)


def in_script(text: str, language: Language) -> str:
    """Text that shows the other script, in this one; any other text as it is."""
    if language == "zh-hans":
        return to_simplified(text)
    if language != "zh-hant" or not text:
        return text
    turned, simplified = converted(text, _CONFIGS[language]), to_simplified(text)
    if len(turned) == len(text) == len(simplified) and all(
        before == after or before in _BOTH or before != folded
        for before, after, folded in zip(text, turned, simplified, strict=True)
    ):
        return text  # what differs are other Traditional forms: 裏 and 裡
    return turned


# ------------------------------------------------------------------------------------------------ analysis
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
CACHED_CHARS, CACHED_TEXTS = 600, 4096  # sentences, not documents
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
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "sv": "swedish", "ru": "russian",
}  # fmt: skip


def analyze(text: str) -> list[str]:
    """The terms of a document's text, as often as they occur. Empty when there are only stop words and symbols."""
    return _known_terms(text, _chinese_index_terms)


def query_terms(text: str) -> list[str]:
    """The terms that a question is made of: those of `analyze`, but Chinese by whole words alone. `search_terms` are
    what the index is asked for.

    All of a word's bigrams in a query would outweigh the word: on rgb_zh nDCG@10 of BM25 is .530 with words against an
    index of words and bigrams, .503 with both on both sides, .514 with words and their sub-words on both.
    """
    return _known_terms(text, _chinese_words)


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


def _known_terms(text: str, chinese: Callable[[str], Iterable[str]]) -> list[str]:
    """The steps of an answer look at the same sentences and the same question many times, within milliseconds."""
    return list(_cached_terms(text, chinese) if len(text) <= CACHED_CHARS else _terms(text, chinese))


@lru_cache(maxsize=CACHED_TEXTS)
def _cached_terms(text: str, chinese: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    return tuple(_terms(text, chinese))


def _terms(text: str, chinese: Callable[[str], Iterable[str]]) -> Iterator[str]:
    folded = _folded(text)
    language = detect_language(folded)
    shouting = folded.upper() == folded
    for match in _TOKEN.finditer(folded):
        kind, token = match.lastgroup, match.group()
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
    """Load jieba's tables and OpenCC's dictionaries now (half a second), not in somebody's first question."""
    analyze("繁體字和 running 分詞")


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
