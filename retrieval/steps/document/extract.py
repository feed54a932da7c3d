"""What a document says of one kind: its deadlines, dates, amounts, contacts or requirements, found by patterns.

The patterns know how dates, sums and duties are written in English and Chinese; each runs in linear time. What they
find are whole sentences, quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from retrieval.steps.document.sections import Statement
from retrieval.steps.document.task import Kind
from retrieval.text.analysis import analyze, query_terms
from retrieval.text.figures import known_figures, stated_figures
from retrieval.text.language import to_simplified

_DATE_UNITS = frozenset(("month", "date"))
_SPAN_UNITS = frozenset(("day", "workday", "week", "months", "hour", "minute", "years"))
_MONEY_UNITS = frozenset(("eur", "usd", "gbp", "cny", "money", "%"))
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_LIMITS = re.compile(
    r"\b(?:by|until|till|before|no later than|not later than|at the latest|within|deadlines?|due|clos(?:e|es|ed|ing)"
    r"|ends?|expires?|last day|latest|at least \S{1,12} (?:days?|weeks?|months?)|up to|from .{1,40} to)\b"
    r"|截止|截至|以前|之前|前(?:提出|提交|申请|办理|完成|报|交|到)|[日天周月号时点]前|以内|之内|[日天周月年时]内|期限|时限|逾期|不迟于|最迟|最晚|为止|止",
    re.IGNORECASE,
)
_HAN_LIMIT = re.compile(
    r"[\d一二三四五六七八九十两百]{1,4}个?(?:工作日|小时|学期|日|天|周|月|年)(?:之?内|以内|之?前|为限)|前[\d一二三四五六七八九十两]{1,3}个?(?:工作日|日|天|周|月)"
    r"|不(?:得)?(?:超过|逾|迟于)[\d一二三四五六七八九十两百]{1,4}个?(?:工作日|小时|学期|日|天|周|月|年)|每(?:学期|年|月).{0,8}[周月日]内"
)
_HAN_SPAN = re.compile(r"[\d一二三四五六七八九十两百]{1,4}个?(?:工作日|小时|学期|日|天|周|月|年)")
_CONTACT = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}|https?://|\bwww\.|(?<![\d-])\+?\d[\d ()/-]{6,18}\d(?!\d)"
    r"|\b(?:contact|telephone|phone|e-?mail|helpdesk|help desk|service desk|hotline|room \w{1,8})\b"
    r"|电话|邮箱|电子邮件|联系(?:人|方式|电话)|地址|窗口|办公室",
    re.IGNORECASE,
)
_DUTY = re.compile(
    r"\b(?:must|shall|have to|has to|required|requires?|need(?:s)? to|obliged|may not|must not|cannot|not allowed"
    r"|not permitted|prohibited|forbidden|mandatory|only if|at least|is to be|are to be)\b"
    r"|必须|必須|应当|應當|须|須|不得|禁止|需要?(?!求)|应(?:在|于|按|向|由|提|及)|不可|方可|严禁",
    re.IGNORECASE,
)


def find(
    statements: Iterable[Statement], kinds: Iterable[Kind], thing: str = "", *, all_words: bool = False
) -> list[Statement]:
    """Those that hold something of one of the kinds, in their order, each text once. `thing`: of the kind "other", of
    which a statement holds any word, or all."""
    wanted = tuple(kinds)
    terms = frozenset(query_terms(thing))
    least = len(terms) if all_words else 1
    found: dict[str, Statement] = {}
    for statement in statements:
        if any(_holds(statement.text, kind, terms, least) for kind in wanted):
            found.setdefault(" ".join(statement.text.split()), statement)
    return list(found.values())


def is_headed(thing: str, heading: str) -> bool:
    """Whether a heading names the thing, and so what stands under it is of that kind."""
    terms = set(query_terms(thing))
    return bool(terms) and terms <= set(analyze(heading))


def may_hold(text: str, kinds: Iterable[Kind]) -> bool:
    """Whether what a model has noted may be of one of the kinds, less strictly than `find`: a deadline has a date, a
    span of time or a word for a limit, an amount a sum. Of other kinds the model's word is enough."""
    text = to_simplified(text)
    for kind in kinds:
        if kind == "amounts":
            held = _has_unit(text, _MONEY_UNITS)
        elif kind == "dates":
            held = _is_dated(text)
        elif kind == "deadlines":
            held = _is_dated(text) or _has_unit(text, _SPAN_UNITS) or _says_limit(text)
        else:
            held = True
        if held:
            return True
    return False


def _says_limit(text: str) -> bool:
    return bool(_LIMITS.search(text) or _HAN_SPAN.search(text))


def _holds(text: str, kind: Kind, terms: frozenset[str], least: int) -> bool:
    text = to_simplified(text)
    match kind:
        case "dates":
            return _is_dated(text)
        case "deadlines":
            limited = bool(_LIMITS.search(text)) and (_is_dated(text) or _has_unit(text, _SPAN_UNITS))
            return limited or bool(_HAN_LIMIT.search(text))
        case "amounts":
            return _has_unit(text, _MONEY_UNITS)
        case "contacts":
            return bool(_CONTACT.search(text))
        case "requirements":
            return bool(_DUTY.search(text))
    return bool(terms) and len(terms & set(analyze(text))) >= least


def _is_dated(text: str) -> bool:
    return _has_unit(text, _DATE_UNITS) or bool(_YEAR.search(text))


def _has_unit(text: str, units: frozenset[str]) -> bool:
    return any(figure.unit in units for figure in stated_figures(text)) or any(
        unit in units for _, unit in known_figures(text)
    )
