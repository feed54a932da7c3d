"""Make ambiguous questions of labelled ones, by rule: a question that should be asked back about.

    python -m benchmarks.clarify_set DATA_FOLDER OUT_FOLDER [--sets a b] [--traditional] [--show N]

Of an answerable question the words that tell readings apart are taken away: the name that it is about becomes a
reference ("the film", "he", 该公司, 他), or "of NAME" and "NAME 的" are left out. Kept is what then names nothing and
fits several things of the collection: passages of different titles, its own among them, hold all of its remaining
words in two neighbouring sentences, and something of the kind that is asked for. The questions as they were are the
counter-examples (`benchmarks.answers.clarify_report`). Written is one {set}.jsonl: {id, text, clarify, original, rule};
nothing of the data belongs in the repository.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.support.grader_data import LabelledSet
from retrieval.answerability.passage import PassageView, view_passage
from retrieval.answerability.question import view_question
from retrieval.text.language import HAN_CHARACTER, converted

SETS = ("squad2_en", "hotpotqa_en", "cmrc2018_zh")
SEED = 1
FITS = 2  # titles that the question must fit at least
MAX_WORDS, MAX_HAN = 16, 30  # longer questions describe one thing even without its name

_PEOPLE = (
    "actor actress singer rapper musician songwriter player footballer politician writer author novelist poet director"
    " producer scientist physicist inventor engineer businessman businesswoman lawyer model comedian composer guitarist"
    " drummer coach boxer wrestler racer driver king queen emperor general officer soldier painter artist journalist"
    " philosopher mathematician chemist economist theologian reformer pirate bishop priest explorer person man woman"
)
_THINGS = (
    "film movie company band album song book novel magazine newspaper series show sitcom game city town village"
    " settlement municipality state country kingdom empire dynasty river lake mountain island university college school"
    " hospital airport station railway highway road bridge stadium theatre hotel museum church building tower park"
    " organization organisation party team club league festival award war battle treaty law disease drug plant genus"
    " species breed animal religion language airline aircraft ship label opera musical play corporation agency"
    " committee program mission process theory machine engine gas element rainforest region people group system"
)
_KIND_EN = dict.fromkeys(_PEOPLE.split(), "person") | {kind: kind for kind in _THINGS.split()}
_DEFINED = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the)\s+([^.;:]{1,120})")
_NAMES_EN = re.compile(r"\b[A-Z][\w&.-]*(?:\s+(?:(?:of|the|de|von)\s+)?[A-Z][\w&.-]*)*")
_TELLS_APART = re.compile(r"(?<=\S )[A-Z]|\d|[\"“”‘《「『]")
_AFTER_SUBJECT = re.compile(
    r"^\s*(?:[?,.]|(?:is|was|were|are|did|do|does|has|had|have|in|of|on|from|to|at|with|for|by|and|or|when|that|which"
    r"|become|before|after|during|since|through|as|because|while|into|made|can|could|would|should|may|must|about"
    r"|first|also|ever|not)\b)"
)
_AUXILIARY = re.compile(r"\b(?:did|does|do|was|is|were|are|has|had|can|could|would|will)\s+(?:the\s+)?$", re.IGNORECASE)
_BEFORE_IT = re.compile(
    r"(?:^|\b(?:did|does|was|is|has|had|can|could|will|of|in|to|with|on|for|by|about|from|at|against|under|\w+e[ds])"
    r" )$",
    re.IGNORECASE,
)
_OF_NAME = re.compile(r"\s(?:of|in)\s(?:the\s)?$")
# "What is the capital of NAME?"; "What is the number?" and "How many parks are?" would be no questions.
_NOUN_OF = re.compile(
    r"\bthe (?:[a-z-]+ )*(?!(?:number|name|part|parts|rest|use|type|kind) )[a-z]{3,} (?:of|in) (?:the )?$"
)

_KINDS_ZH = (
    "电影:这部电影 电视剧:这部电视剧 连续剧:这部电视剧 "
    "小说:这部小说 漫画:这部漫画 动画:这部动画 歌曲:这首歌 单曲:这首歌 专辑:这张专辑 游戏:这款游戏 "
    "乐队:该乐队 乐团:该乐团 组合:该组合 公司:该公司 集团:该集团 银行:该银行 大学:该大学 "
    "学院:该学院 中学:该校 小学:该校 学校:该校 医院:该医院 机场:该机场 车站:该站 铁路:该铁路 "
    "公路:该公路 线路:该线路 航空:该公司 球队:该球队 俱乐部:该俱乐部 杂志:该杂志 报纸:该报 "
    "教堂:该教堂 寺:该寺 岛屿:该岛 河流:该河 县:该县 镇:该镇 乡:该乡 村:该村 城市:该市 属:该属 "
    "植物:这种植物 鱼:这种鱼 恐龙:这种恐龙 动物:这种动物 战役:这场战役 条约:该条约 组织:该组织 "
    "政党:该党 节目:该节目 建筑:该建筑 酒店:该酒店"
)
_KIND_ZH = [pair.partition(":")[::2] for pair in _KINDS_ZH.split()]  # what it is, what it is then called
_PERSON_ZH = re.compile(
    r"演员|歌手|导演|作家|政治家|政治人物|运动员|球员|画家|将领|皇帝|诗人|学者|科学家|主持人|音乐人|配音|人物|官员|教授|僧人|国王"
    r"|主教|记者|律师|武将|大臣|[男女]性|字.{1,3}[,，]"
)
_ENDING_ZH = re.compile(
    r"(站|公司|大学|学院|医院|机场|铁路|公路|线|县|镇|乡|村|岛|寺|教堂|酒店|银行|集团|俱乐部|乐团|战役|条约|属)$"
)
_TELLS_APART_ZH = re.compile(r"[A-Za-z\d《》「」『』“”\"]|[一二][〇零一二三四五六七八九]{3}年|[·・]")


@dataclass(frozen=True, slots=True)
class Made:
    """A question of which something was taken away. `rule`: what; `left_out`: words that the readings need not hold."""

    text: str
    rule: str
    left_out: str = ""


def clear_name(title: str) -> str:
    """A title without what tells it from namesakes: (film), ", California"."""
    return re.split(r"\s*[(（]|,\s", title, maxsplit=1)[0].strip()


# ------------------------------------------------------------------------------------------------ English
def taken_away_en(question: str, title: str, lead: str) -> Iterator[Made]:
    """`lead`: the first sentences of what the question is about."""
    name = clear_name(title)
    reference = _reference_en(lead)
    names = {name, re.sub(r"s$", "", name)}
    if reference in ("he", "she"):
        names.add(name.split()[-1])
    for one in sorted(names, key=len, reverse=True):
        found = re.search(rf"(?<!\w)(?:[Tt]he\s+)?{re.escape(one)}s?(?!\w|-)", question, re.IGNORECASE)
        if found and len(one) > 2:
            yield from _without_name_en(question, found.start(), found.end(), reference)
            break
    for found in _NAMES_EN.finditer(question):
        before = question[: found.start()]
        if _NOUN_OF.search(before) and "'" not in before and re.match(r"\s*\?", question[found.end() :]):
            yield Made(_OF_NAME.sub("", before).rstrip(" ,") + "?", "of NAME")


def _without_name_en(question: str, start: int, end: int, reference: str) -> Iterator[Made]:
    before, after = question[:start], question[end:]
    possessive = {"he": "his", "she": "her", "it": "its"}.get(reference, reference + "'s")
    if after.startswith(("'s", "’s", "' ", "’ ")):
        text = before + possessive + re.sub(r"^['’]s?", "", after)
    elif reference == "it" and not _BEFORE_IT.search(before):
        return
    elif _AFTER_SUBJECT.match(after) or _AUXILIARY.search(before):
        as_object = not _AUXILIARY.search(before) and before and re.match(r"\s*[?,.]|\s*(?:in|on|at|to|for)\b", after)
        word = {"he": "him", "she": "her"}.get(reference, reference) if as_object else reference
        text = before + word + after
    else:
        return
    yield Made(text[:1].upper() + text[1:], "NAME to a reference", left_out=reference)


def _reference_en(lead: str) -> str:
    found = _DEFINED.search(lead)
    words = re.findall(r"[a-z]+", found[1].lower()) if found else []
    kind = next((_KIND_EN[word] for word in words if word in _KIND_EN), "")
    if kind == "person":
        hers = len(re.findall(r"\b(?:she|her)\b", lead, re.IGNORECASE))
        return "she" if hers > len(re.findall(r"\b(?:he|his|him)\b", lead, re.IGNORECASE)) else "he"
    return f"the {kind}" if kind else "it"


# ------------------------------------------------------------------------------------------------ Chinese
def taken_away_zh(question: str, title: str, lead: str) -> Iterator[Made]:
    name = clear_name(title)
    found = re.search(rf"[《「『“\"]?{re.escape(name)}[》」』”\"]?", question)
    if not found or len(name) < 2:
        return
    before, after = question[: found.start()], question[found.end() :]
    reference = _reference_zh(name, lead)
    if reference and not after.startswith(("人", "市", "省")):
        yield Made(before + reference + after, "NAME to a reference", left_out=reference)
    if after.startswith("的") and not before:
        yield Made(after[1:], "NAME 的")


def _reference_zh(name: str, lead: str) -> str:
    if ending := _ENDING_ZH.search(name):
        return f"该{ending[1]}"
    first = lead[:60]
    if _PERSON_ZH.search(first):
        return "她" if lead.count("她") > lead.count("他") else "他"
    places = [(first.find(kind), reference) for kind, reference in _KIND_ZH if kind in first]
    return min(places)[1] if places else ""


# ------------------------------------------------------------------------------------------------ what fits
class Fits:
    """Which titles a question fits: their passages hold all that it says."""

    def __init__(self, labelled: LabelledSet) -> None:
        self.labelled = labelled
        self.views: list[PassageView] = [view_passage(chunk.title, chunk.text) for chunk in labelled.chunks]
        self.holding: dict[str, set[int]] = {}
        for at, view in enumerate(self.views):
            for term in {*view.terms, *view.head}:
                self.holding.setdefault(term, set()).add(at)

    def titles(self, made: Made) -> set[str]:
        view = view_question(made.text)
        left_out = set(view_question(made.left_out).terms) if made.left_out else set()
        wanted = [term for term in view.terms if term not in left_out]
        strong = [term for term in wanted if term not in view.weak]
        if not wanted:
            return set()
        places = set.intersection(*(self.holding.get(term, set()) for term in strong or wanted))
        return {
            clear_name(self.labelled.chunks[at].title)
            for at in places
            if self._says(at, frozenset(strong or wanted), view.kind) and self._is_of_kind(at, made.left_out)
        }

    def _says(self, at: int, wanted: frozenset[str], kind: str) -> bool:
        view = self.views[at]
        for pair in [*pairwise(view.sentences), *((one,) for one in view.sentences[:1])]:
            terms = frozenset().union(*(one.terms for one in pair)) | view.head
            kinds = frozenset().union(*(one.kinds for one in pair))
            if wanted <= terms and (kind not in ("date", "number") or kind in kinds):
                return True
        return False

    def _is_of_kind(self, at: int, reference: str) -> bool:
        text = self.labelled.chunks[at].text
        if reference in ("he", "she"):
            return bool(re.search(r"\b(?:he|she|his|her)\b", text))
        if reference == "it":
            return True
        if reference in ("他", "她"):
            return "他" in text or "她" in text or bool(_PERSON_ZH.search(text[:60]))
        kind = re.sub(r"^(?:the |该|这[部首张款种场])", "", reference)
        return not kind or kind in f"{self.labelled.chunks[at].title} {text}".casefold()


def made_of(labelled: LabelledSet) -> list[dict[str, object]]:
    """The ambiguous questions of a set, at most one of each question, in a random order (seed 1)."""
    fits, lead = Fits(labelled), _leads(labelled)
    rows: dict[str, dict[str, object]] = {}
    for query in labelled.queries:
        gold = sorted(labelled.answers.get(query["id"], ()))
        question = " ".join(query["text"].split())
        chinese = bool(HAN_CHARACTER.search(question))
        take = taken_away_zh if chinese else taken_away_en
        for at in gold:
            title = labelled.chunks[at].title
            for made in take(question, title, lead[clear_name(title)]):
                if not _names_nothing(made.text, chinese) or made.text in rows:
                    continue
                titles = fits.titles(made)
                if clear_name(title) in titles and len(titles) >= FITS:
                    rows[made.text] = {
                        "id": f"{query['id']}-clarify", "text": made.text, "clarify": True, "original": query["id"],
                        "rule": made.rule, "fits": len(titles),
                    }  # fmt: skip
                    break
            else:
                continue
            break
    order = np.random.default_rng(SEED).permutation(len(rows))
    found = list(rows.values())
    return [found[at] for at in order]


def _leads(labelled: LabelledSet) -> dict[str, str]:
    """By title: the text that says first what it is."""
    leads: dict[str, str] = {}
    for chunk in labelled.chunks:
        leads.setdefault(clear_name(chunk.title), chunk.text[:600])
    return leads


def _names_nothing(text: str, chinese: bool) -> bool:
    if chinese:
        return not _TELLS_APART_ZH.search(text) and 4 <= len(text) <= MAX_HAN
    return not _TELLS_APART.search(text) and 3 <= len(text.split()) <= MAX_WORDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="one folder per set")
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--traditional", action="store_true", help="Chinese questions in Traditional characters")
    parser.add_argument("--show", type=int, default=0, help="print so many of each, to read them")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        rows = made_of(LabelledSet(name, options.data, None))
        if options.traditional:
            rows = [row | {"text": converted(str(row["text"]), "s2t")} for row in rows]
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        (options.out / f"{name}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
        print(f"{name}: {len(rows)} questions")
        for row in rows[: options.show]:
            print(f"  {row['rule']}: {row['text']} ({row['fits']})")


if __name__ == "__main__":
    main()
