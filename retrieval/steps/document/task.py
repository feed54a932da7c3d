"""Does a question want a whole document: to summarise it, to say what changed between two, or to list all of a kind?

By words alone, without a model and without a look at the documents, so that an ordinary question costs nothing. What is
left of the question beside the task's words is its *mention* of documents; `retrieval.steps.document.naming` finds out
which are meant, and sends the question back to the ordinary way where a word of it belongs to no title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from retrieval.steps.query.route import fold, years_in
from retrieval.text.language import HAN, HAN_CHARACTER

Task = Literal["summary", "changes", "list"]
Kind = Literal["deadlines", "dates", "amounts", "contacts", "requirements", "other"]

MAX_CHARS = 240  # of a question that names a task and a document and nothing else
MAX_SPLITS = 6  # places at which a question may be cut into its task and its documents

# ------------------------------------------------------------------------------------------------ words of documents
# What a document may be called without being named by it. The universal ones may stand for any document.
UNIVERSAL = frozenset("document documents doc docs file files pdf attachment attachments text".split())  # noqa: SIM905
NOUNS = UNIVERSAL | frozenset(
    """report reports paper policy policies regulation regulations rule rules rulebook guide guides guideline guidelines
    handbook manual contract agreement statute statutes bylaws procedure procedures terms presentation slides
    spreadsheet minutes version versions edition editions notice charter directive leaflet brochure instructions form
    article whitepaper memo terms""".split()  # noqa: SIM905
)
UNIVERSAL_HAN = "文件|文档|附件|资料|材料|全文|原文"
NOUNS_HAN = (
    f"{UNIVERSAL_HAN}|管理办法|管理规定|实施细则|文章|报告|规定|规则|规章|规程|规范|条例|办法|制度|章程|政策|手册|指南|须知|细则|合同"
    "|协议|公告|通知|说明书|守则|准则|论文|课件|版本|版"
)
_SINGULAR = "|".join(sorted(NOUNS, key=len, reverse=True))
_THIS = re.compile(
    rf"\b(?:this|these|my|(?:the |my |this |that )?(?:attached|uploaded|enclosed|present))"
    rf" (?:(?:attached|uploaded|whole|entire|full|word|text) )*(?:{_SINGULAR})\b"
    r"|\bthe (?:(?:attached|uploaded|whole|entire|full) )*(?:document|file|pdf|attachment)\b|\bthe attachments?\b"
)
_THIS_HAN = re.compile(
    rf"(?:(?:这|那|该|本|此|上述|上传的|所附的?|附上的|附件(?:中|里)?的)(?:一)?(?:份|个|篇|部|项|本)?(?:pdf|{NOUNS_HAN}))|附件"
)
PLACE = "◇"  # stands where a quoted name stood
_QUOTED = re.compile(
    r"《([^《》]{1,120})》|「([^「」]{1,120})」|『([^『』]{1,120})』|“([^“”]{2,120})”|\"([^\"]{2,120})\""
)
_FILE = re.compile(r"(?<![\w.])[\w()（）.-]{1,100}\.(?:pdf|docx?|pptx?|xlsx?|csv|md|txt|html?)(?![\w.])")
# "the document “Fees”", 附件《收费》: the word points at nothing but what is named beside it.
_CALLED = re.compile(
    rf"(?:\b(?:the|this|my) (?:(?:attached|uploaded|whole|entire|full) )*(?:{_SINGULAR})(?: (?:called|named|titled))?"
    rf"|(?:(?:这|该|此)(?:份|个|篇)?)?(?:{UNIVERSAL_HAN}))[ :：]*({PLACE})"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)(?:[-/–](?:19|20)?\d{2}(?!\d))?\s?(?:学年度?|年度|年版|年|版)?")
_YEAR_HAN = re.compile(r"[一二][〇零一二三四五六七八九]{3}(?:学年度?|年度|年版|年|级|届)")
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """What a question says of the documents that it means, folded. `words`: Latin ones, `han`: the Chinese rest.

    this: it points at one ("this document"). quoted: names in quotation marks, and file names. nouns: "rules", 办法.
    """

    words: tuple[str, ...] = ()
    han: str = ""
    quoted: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    years: tuple[int, ...] = ()
    this: bool = False

    @property
    def is_named(self) -> bool:
        """Whether it says that it means a document: in quotation marks, by pointing, or by a word such as "rules"."""
        return bool(self.quoted or self.this or self.nouns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A task, and the ways to read which documents it is about; the first that fits counts.

    A reading has one mention, or two where two documents are compared. weak: the words of the task are those of
    ordinary questions, too ("what does it say?"), so the document must be named without doubt.
    """

    task: Task
    readings: tuple[tuple[Mention, ...], ...]
    kinds: tuple[Kind, ...] = ()
    thing: str = ""  # what is to be listed, in the user's words
    weak: bool = False
    things: tuple[str, ...] = field(default=())  # beside `readings` of a list: what each would list


def read_task(text: str) -> Wanted | None:
    """None: an ordinary question, as far as words tell."""
    if len(text) > MAX_CHARS or "\n" in text.strip():
        return None
    folded = fold(text).strip(" .?!。？！,，;；:：")
    wanted = _changes(folded) or _list(folded) or _summary(folded)
    return wanted if wanted and wanted.readings else None


_SHORT = re.compile(
    r"\b(?:brief(?:ly)?|short(?:ly)?|concise(?:ly)?|tl;? ?dr|nutshell|gist|(?:a few|\d+|two|three|four|five|ten|one)"
    r" (?:sentences?|words|lines|points|bullets|bullet points|paragraphs?))\b"
    r"|(?:[\d一二两兩三四五]|几|幾)(?:句|点|點|段|行|条|條|个字|個字|百字|个要点)|简短|簡短|简要|簡要|简单|簡單|扼要|简述|簡述",
    re.IGNORECASE,
)


def wants_it_short(question: str) -> bool:
    """Whether a summary is wanted that is shorter than a point for each section."""
    return bool(_SHORT.search(question))


def mention_of(text: str) -> Mention:
    """What a text names, of which all but the names has been taken out. `text` is folded."""
    quoted = [next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(text)]
    text = _QUOTED.sub(f" {PLACE} ", text)
    quoted += _FILE.findall(text)
    text = _FILE.sub(f" {PLACE} ", text)
    years = tuple(years_in(text))
    text = _YEAR_HAN.sub(" ", _YEAR.sub(" ", text))
    text = _CALLED.sub(r" \1 ", text)
    this = bool(_THIS.search(text) or _THIS_HAN.search(text))
    text = _THIS_HAN.sub("", _THIS.sub(" ", text))
    words = [word for word in _WORD.findall(text) if word not in _EMPTY]
    han = "".join(re.findall(rf"[{HAN}{PLACE}]+", text)).replace(PLACE, "")
    nouns = [word for word in words if word in NOUNS] + re.findall(NOUNS_HAN, han)
    return Mention(
        words=tuple(word for word in words if word not in NOUNS),
        han=han,
        quoted=tuple(name for name in quoted if name),
        nouns=tuple(nouns),
        years=years,
        this=this,
    )


# ------------------------------------------------------------------------------------------------ English
_EMPTY = frozenset(
    """the a an of in on for to from by and or our your my this that these those its it is are was were be me us please
    's whole entire full complete current latest newest""".split()  # noqa: SIM905
)
_LEAD = (
    r"(?:(?:please|kindly|now|can you|could you|would you|will you|can i (?:get|have)|could i (?:get|have)"
    r"|help me(?: to)?|i(?:'d| would) like(?: you)?(?: to(?: have)?)?|i need(?: you to)?"
    r"|i want(?: you to)?|give me|write(?: me)?|show me|tell me"
    r"|provide(?: me with)?|make(?: me)?|create|produce|draft|let me have)[, ]+)*"
)
_MANNER = (
    r"(?:short|brief|quick|concise|detailed|full|complete|executive|general|rough|one[- ]page|bullet[- ]point|good|nice"
    r"|comprehensive|high[- ]level)"
)
_MAIN = r"(?:main|key|most important|central|essential|important|major|principal)"
_TAIL = re.compile(
    r"(?:[, ]+(?:for me|please|briefly|shortly|in (?:short|brief|detail|a nutshell"
    r"|(?:a few|\d+|two|three|four|five|ten|one) (?:sentences?|words|lines|points|bullets|bullet points"
    r"|paragraphs?|pages?)|bullet points|plain english|simple (?:words|terms))|as (?:a list|bullet points)))+$"
)
_SUMMARY = re.compile(
    rf"^{_LEAD}(?:(?:briefly |quickly )?(?:summari[sz]e|sum up|recap|outline)\b(?: (?:the )?(?:{_MAIN} )?"
    r"(?:content|contents|points|rules|provisions) of)?"
    rf"|(?:a |an |the )?(?:{_MANNER}[, ]+)*(?:summary|overview|outline|synopsis|digest|gist|recap) (?:of|for)"
    rf"|(?:what are )?(?:the )?{_MAIN} (?:points|takeaways|provisions|messages|contents|topics|findings) (?:of|in|from)"
    r"|tl;? ?dr(?: of| for)?:?) (?P<rest>.+)$"
)
_SAYS = re.compile(
    r"^what (?:does|do) (?P<says>.+?) (?:say|cover|contain|regulate|deal with)(?: in (?:short|brief|general|all))?$"
    r"|^what(?:'s| is| are) (?P<about>.+?) (?:all )?about$"
)
_CHANGED = re.compile(
    r"\bwhat(?:'s| is| has| have| was| were)?(?: been)?"
    rf" (?:changed|new|different|modified|amended|revised|the (?:{_MAIN} )?(?:changes?|differences?))\b"
    r"|\bhow (?:do|does|did|have|has|are|is)\b.*\b(?:changed?|differ|differs|different)\b"
    r"|\b(?:changes?|differences?) (?:between|from|since|in|of|to)\b"
    rf"|^{_LEAD}compare\b|\bcomparison (?:of|between)\b"
)
_OF_CHANGES = frozenset(
    """what whats has have been changed change changes new different difference differences modified amended revised
    main key most important major all how do does did differ differs compare compared comparing comparison between since
    with vs versus against list show tell explain there made please can could you old older newer previous earlier
    former last year years one ones two both each other give describe summarise summarize""".split()  # noqa: SIM905
)
_JOINS = re.compile(r" (?:and|with|to|vs\.?|versus|against|from) ")
_KIND_WORDS: dict[Kind, str] = {
    "deadlines": "deadline deadlines due closing cutoff limits periods",
    "dates": "date dates times",
    "amounts": "amount amounts fee fees charge charges cost costs price prices fine fines penalties payments rates",
    "contacts": "contact contacts email emails e-mail phone telephone addresses numbers people offices",
    "requirements": "requirement requirements obligation obligations duties conditions prohibitions musts",
}
_KIND_OF = {word: kind for kind, words in _KIND_WORDS.items() for word in words.split()}
_OF_LISTS = frozenset(
    """all every each any the of and or important relevant key main single with their its that are is there time
    person details""".split()  # noqa: SIM905
)
_LIST = re.compile(
    rf"^{_LEAD}(?:(?P<ask>what|which) (?:are (?:all )?(?:the )?)?|(?:list|name|find|show|extract|collect|enumerate"
    r"|identify|gather|pull out|make a list of|a list of|compile)(?: me| us| out| up)? )(?P<thing>[^;:?!]{2,160})$"
)
_LIST_FROM = re.compile(
    r" (?:(?:that |which )?(?:are |is )?(?:there )?(?:mentioned|named|listed|given|stated|contained|found|set out|set"
    r"|defined|specified|included|required|imposed|described) )?(?:in|from|within|of|by|throughout) "
)
_LIST_DOES = re.compile(
    r"^(?P<thing>.+?) (?:does|do|are|is) (?P<rest>.+?)"
    r" (?:mention|contain|list|set|set out|name|state|give|have|hold|include|specify|define|impose|named in|in)$"
)


def _summary(text: str) -> Wanted | None:
    if HAN_CHARACTER.search(_QUOTED.sub("", text)) and (wanted := _summary_han(text)):
        return wanted
    text = _TAIL.sub("", text)
    if match := _SUMMARY.match(text):
        return Wanted(task="summary", readings=((mention_of(match["rest"]),),))
    if match := _SAYS.match(text):
        return Wanted(task="summary", readings=((mention_of(match["says"] or match["about"]),),), weak=True)
    return None


def _changes(text: str) -> Wanted | None:
    if HAN_CHARACTER.search(_QUOTED.sub("", text)) and (wanted := _changes_han(text)):
        return wanted
    text = _TAIL.sub("", text)
    if not _CHANGED.search(text):
        return None

    def named(part: str) -> Mention:
        mention = mention_of(part)
        return _without(mention, _OF_CHANGES)

    splits = list(_JOINS.finditer(text))[:MAX_SPLITS]
    pairs = tuple((named(text[: join.start()]), named(text[join.end() :])) for join in splits)
    return Wanted(task="changes", readings=((named(text),), *pairs))


def _list(text: str) -> Wanted | None:
    if HAN_CHARACTER.search(_QUOTED.sub("", text)) and (wanted := _list_han(text)):
        return wanted
    match = _LIST.match(_TAIL.sub("", text))
    if not match:
        return None
    asks = bool(match["ask"])
    parts = [(match["thing"][: at.start()], match["thing"][at.end() :])
             for at in list(_LIST_FROM.finditer(match["thing"]))[:MAX_SPLITS]]  # fmt: skip
    if asks and (does := _LIST_DOES.match(match["thing"])):
        parts.append((does["thing"], does["rest"]))
    read = [(thing, mention_of(rest)) for thing, rest in parts]
    known = [(thing, mention) for thing, mention in read if _kinds(thing)]
    # What is not of a known kind is only listed where all of it is wanted, from what is surely a document.
    if not known and not asks:
        known = [(thing, one) for thing, one in read if one.is_named and re.match(r"(?:all|every|each)\b", thing)]
    if not known:
        return None
    return Wanted(
        task="list",
        readings=tuple((mention,) for _, mention in known),
        kinds=_kinds(known[0][0]) or ("other",),
        thing=re.sub(r"^(?:(?:all|every|each|of|the)\s+)+", "", known[0][0]),
        things=tuple(thing for thing, _ in known),
        weak=True,
    )


def _kinds(thing: str) -> tuple[Kind, ...]:
    """Empty where a word says that something else is wanted, or only some of it."""
    words = [word for word in _WORD.findall(thing) if word not in _OF_LISTS]
    kinds = [_KIND_OF[word] for word in words if word in _KIND_OF]
    return tuple(dict.fromkeys(kinds)) if kinds and len(kinds) == len(words) else ()


def _without(mention: Mention, empty: frozenset[str]) -> Mention:
    return Mention(
        words=tuple(word for word in mention.words if word not in empty),
        han=mention.han,
        quoted=mention.quoted,
        nouns=mention.nouns,
        years=mention.years,
        this=mention.this,
    )


# ------------------------------------------------------------------------------------------------ Chinese, Simplified
_SUMMARY_HAN = re.compile(r"总结|概括|概述|归纳|摘要|提要|简述|综述|概要|小结|梳理")
_SAYS_HAN = re.compile(
    r"(?:主要|核心|关键)(?:内容|要点|规定)|要点|重点|大意"
    r"|(?:主要)?(?:讲|说|写|规定)了?(?:些|一些)?(?:什么|啥)|内容(?:是|有)(?:什么|哪些)|讲的是什么"
)
_CHANGE = "变化|变动|变更|改变|改动|修改|修订|调整|不同|区别|差异|差别|更新"
_CHANGED_HAN = re.compile(
    rf"有(?:什么|哪些|何|啥|怎样的)(?:主要|重要|重大)?的?(?:{_CHANGE})(?:之处|的地方)?|(?:{_CHANGE})(?:了什么|了哪些|是什么|有哪些|在哪里?)"
    r"|(?:改|变)了(?:什么|哪些)|对比|比较|相比|异同"
)
_JOINS_HAN = re.compile(r"和|与|跟|同|及|相比|比|到|对比")
_ALL_HAN = re.compile(r"列出|列举|罗列|找出|整理|提取|汇总|摘录|列一下|所有|全部|一切|哪些")
_KINDS_HAN: dict[Kind, str] = {
    "deadlines": "截止日期|截止时间|最后期限|期限|时限|限期|截止",
    "dates": "重要日期|关键日期|日期|时间点",
    "amounts": "费用|金额|收费|价格|数额|罚款|款项",
    "contacts": "联系方式|联系人|电话|邮箱|网址|联络方式",
    "requirements": "要求|义务|禁止事项|条件",
}
_KIND_HAN = re.compile("|".join(words for words in _KINDS_HAN.values()))
FILLER_HAN = (
    r"要点|重点|大意|用?(?:几|一|两|三|五)(?:句话|段话|段|点)|请问|请|麻烦|能否|能不能|可以|可否|帮我|帮忙|给我|替我|为我|我想|我要|想要|一下|详细|简要|简单|简短|全部|所有|一切|主要|整份|整个"
    r"|整篇|之间|里面|当中|是什么|有哪些|有什么|提到的?|规定的|写明的?|列出|列举|罗列|找出|整理|提取|汇总|摘录|内容|生成|写出?|做|一个"
    r"|一份|一篇|相比|相较|较之|两个?|前后|新|旧|老|年|版本|版|其中|涉及|包含|各项|各|都|你|您|我|把|将|对|就|地|的|了|出|在|中|里|内"
    r"|与|和|跟|同|及|从|到|至|于|比|个|份|篇|下|吗|呢|有|是|、"
)


def _summary_han(text: str) -> Wanted | None:
    for cue, weak in ((_SUMMARY_HAN, False), (_SAYS_HAN, True)):
        if cue.search(text):
            return Wanted(task="summary", readings=((_rest_of(text, cue),),), weak=weak)
    return None


def _changes_han(text: str) -> Wanted | None:
    if not _CHANGED_HAN.search(text):
        return None
    plain = _CHANGED_HAN.sub("", text)
    # A join inside quotation marks joins nothing.
    marked = _QUOTED.sub(lambda match: PLACE * len(match.group()), plain)
    splits = list(_JOINS_HAN.finditer(marked))[:MAX_SPLITS]
    pairs = tuple((mention_of(plain[: join.start()]), mention_of(plain[join.end() :])) for join in splits)
    return Wanted(task="changes", readings=((_rest_of(text, _CHANGED_HAN),), *pairs))


def _list_han(text: str) -> Wanted | None:
    plain = _QUOTED.sub("", text)
    found = list(_KIND_HAN.finditer(plain))
    if not found or not _ALL_HAN.search(plain):
        return None
    words = [match.group() for match in found]
    kinds = [kind for kind, known in _KINDS_HAN.items() if any(word in known.split("|") for word in words)]
    # "申请材料的截止日期": what stands right before the kind would be a part of it, and is then left over.
    return Wanted(
        task="list", readings=((_rest_of(text, _KIND_HAN),),), kinds=tuple(kinds), thing="、".join(words), weak=True
    )


def _rest_of(text: str, cue: re.Pattern[str]) -> Mention:
    """The mention in what is left beside the task's words; those inside quotation marks stay."""
    return mention_of("".join(part if quoted else cue.sub("", part) for part, quoted in _parts(text)))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    end = 0
    for match in _QUOTED.finditer(text):
        yield text[end : match.start()], False
        yield match.group(), True
        end = match.end()
    yield text[end:], False
