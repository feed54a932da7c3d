"""Questions that look answerable and are not, made by rule from questions that are.

Kinds after Rajpurkar et al., Know What You Don't Know, 2018, arXiv:1806.03822, table 2: another name, another
number, the opposite word, a negation, another thing asked for.
"inside": the other name stands in the passage itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from retrieval.answerability.question import view_question
from retrieval.answerability.spans import plain, spans_of

_OPPOSITE = """before after|after before|first last|last first|largest smallest|smallest largest|highest lowest
lowest highest|most least|least most|more less|less more|increase decrease|increased decreased
decrease increase|north south|south north|east west|west east|began ended|begin end|start end|started ended
end begin|won lost|win lose|lost won|early late|late early|oldest newest|longest shortest|above below
inside outside|allowed forbidden|can cannot|enable disable|create delete|delete create|add remove|left right
right left|men women|women men|male female|female male|support oppose|internal external|public private
private public|strong weak|positive negative|born buried|founded dissolved|built demolished|import export
最大 最小|最小 最大|最高 最低|最多 最少|最早 最晚|第一 最后|之前 之后|以前 以后|增加 减少|提高 降低|上升 下降
允许 禁止|可以 不可以|开始 结束|成立 解散|建立 撤销|支持 反对|北部 南部|南部 北部|东部 西部|西部 东部
出生 去世|创建 删除|启用 禁用|开启 关闭|查看 修改|添加 移除|内部 外部|进口 出口|男 女|胜 败|左 右|父亲 母亲
儿子 女儿"""
_OPPOSITES = [tuple(pair.split()) for pair in _OPPOSITE.replace("\n", "|").split("|")]
_HELPER = re.compile(
    r"\b(?:is|are|was|were|did|does|do|can|could|will|would|has|have|had|should)\b|(?<!不)(?:是|可以|能|会|有)"
)
_CONTENT = re.compile(r"\b[a-z]{5,}\b")
_NUMBER = re.compile(r"\d+")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_KINDS = ("name", "name", "inside", "inside", "thing", "thing", "opposite", "opposite", "negation", "number")


def near_misses(questions: Sequence[str], passages: Callable[[int], str], *, seed: int = 0) -> list[tuple[int, str]]:
    """(place of the question, the question altered), for each that can be altered. Statements are left out: what
    denies them is evidence too. `passages`: the text that answers the question at a place."""
    choose = np.random.default_rng(seed)
    views = [view_question(question) for question in questions]
    names = {chinese: sorted({span.text for view in views if view.chinese == chinese for span in view.spans})
             for chinese in (False, True)}  # fmt: skip
    things = {
        chinese: sorted({word for question, view in zip(questions, views, strict=True) if view.chinese == chinese
                         for word in _things(question, view.chinese)})
        for chinese in (False, True)
    }  # fmt: skip
    altered = []
    for at, (question, view) in enumerate(zip(questions, views, strict=True)):
        kinds = list(dict.fromkeys(choose.permutation(_KINDS).tolist()))
        pick = [int(number) for number in choose.integers(0, 2**31, 8)]
        if not (view.chinese or question.rstrip().endswith("?")):
            continue
        raw = passages(at)
        text, inside = plain(raw), [span.text for span in spans_of(raw, chinese=view.chinese)]
        for kind in kinds:
            new = _alter(kind, question, view.chinese, inside if kind == "inside" else names[view.chinese],
                         things[view.chinese], text, pick)  # fmt: skip
            if new and new != question:
                altered.append((at, new))
                break
    return altered


def _things(question: str, chinese: bool) -> list[str]:
    view = view_question(question)
    if chinese:
        return [
            term for term in view.terms if len(term) == 2 and _HAN.match(term) and term not in view.weak | view.names
        ]
    return [word for word in _CONTENT.findall(question) if not view_question(word).terms[:1] or word not in view.words
            or view_question(word).terms[0] not in view.weak | view.names]  # fmt: skip


def _alter(
    kind: str, question: str, chinese: bool, names: Sequence[str], things: Sequence[str], text: str, pick: Sequence[int]
) -> str:
    if kind == "opposite":
        if re.search(r" or |还是", question):  # asks to compare: the opposite is answered as well
            return ""
        for own, other in _OPPOSITES:
            pattern = own if _HAN.search(own) else rf"\b{own}\b"
            if re.search(pattern, question) and other not in text:
                return re.sub(pattern, other, question, count=1)
        return ""
    if kind == "negation":
        return _HELPER.sub(lambda match: f"不{match.group()}" if chinese else f"{match.group()} not", question, count=1)
    if kind == "number":
        number = _NUMBER.search(question)
        if not number:
            return ""
        new = str(int(number.group()) + 1 + pick[0] % 9) if len(number.group()) < 10 else ""
        return question[: number.start()] + new + question[number.end() :] if new and new not in text else ""
    if kind in ("name", "inside"):
        spans = [span.text for span in view_question(question).spans]
        own = [found for span in spans if (found := _as_written(span, question))]
        held = frozenset(text.split())
        others = [name for name in names if name not in plain(question)
                  and (kind == "inside" or (f" {name} " not in text and held.isdisjoint(name.split())))]  # fmt: skip
        if not own or not others:
            return ""
        old = own[pick[1] % len(own)]
        alike = [name for name in others if len(name.split()) == len(old.split()) or chinese] or others
        new = alike[pick[2] % len(alike)]
        return question.replace(old, new if chinese else new.title(), 1)
    own = _things(question, chinese)
    others = [
        thing
        for thing in things
        if thing not in question.lower() and (thing not in text if chinese else thing[:5] not in text)
    ]
    if not own or not others:
        return ""
    return question.replace(own[pick[3] % len(own)], others[pick[4] % len(others)], 1)


def _as_written(span: str, question: str) -> str:
    """The name as the question writes it, empty where its letters were changed too much to find it."""
    pattern = r"[\W_]*".join(map(re.escape, span.replace(" ", "")))
    match = re.search(pattern, question, re.IGNORECASE) if len(span) < 80 else None
    return match.group() if match else ""
