"""Could a sentence hold the thing that is asked for: a date, a number, a person, a place that the question has not?"""

from __future__ import annotations

import re
from typing import Literal

from retrieval.text.stop_words import ENGLISH

AnswerKind = Literal["date", "number", "person", "place", "reason", "other"]
NEAR_CHARS = 40  # between a number and what it is a number of
_MONTH = "january february march april may june july august september october november december"
_DATE = re.compile(
    rf"\b(?:{_MONTH.replace(' ', '|')}|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
    r"|\b(?:spring|summer|autumn|winter|century|centuries|decades?)\b"
    r"|\b\d{3,4}s?\b|\b\d{1,2}(?:st|nd|rd|th)\b|\d+\s*(?:年|月|日|世纪)|世纪|年代|[一二三四五六七八九十]+[年月日]|\b(?:bc|ad|bce)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?"
    r"|billions?|half|third|quarter|dozens?|once|twice|single|both|no|none|zero|several|majority|annual(?:ly)?|daily|century|centuries|decades?)\b"
    r"|[零一二两三四五六七八九十百千万亿半]+(?=[个名位人次种岁层条天年月日元米公里万亿分小周座家部所支款届集本张台辆吨克亩度倍成块号代])",
    re.IGNORECASE,
)
_PROPER = re.compile(
    r"(?<![.!?]\s)(?<!^)(?<![\"“(\n])\b[A-Z\u00c0-\u00de][\w'’-]+|\b[A-Z][\w'’-]+(?=\s+(?:(?:of|de|van|von|the)\s+)*[A-Z])|\b[A-Z]{2,}\b"
)
_PERSON_ZH = re.compile(
    r"[\u4e00-\u9fff]{1,6}[·•][\u4e00-\u9fff]{1,8}"
    r"|[赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕施张孔曹严华金魏陶姜谢邹喻潘葛范彭鲁韦马苗方俞任袁柳鲍史唐费薛雷贺倪汤罗毕郝安常乐于傅齐康伍余顾孟黄萧尹姚邵汪毛戴宋庞熊纪项祝董梁杜阮蓝席季贾江童颜郭梅林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯管卢莫房丁邓石崔龚程邢裴陆翁曲甄储靳段焦谷侯班秋叶白蒲邰赖卓屠池乔温庄晏柴阎连习艾容向古易廖耿欧][\u4e00-\u9fff]{1,2}"
    r"|[\u4e00-\u9fff]{2,8}(?:先生|女士|教授|博士|导演|总统|总理|主席|将军|皇帝|国王|公司|集团|组织|协会|委员会|政府|学校|大学|队|社|部)"
    r"|[A-Za-z][A-Za-z.-]+"
)
_PLACE_ZH = re.compile(
    r"[\u4e00-\u9fff]{1,7}(?:省|市|县|区|国|州|镇|村|乡|岛|山|河|江|湖|海|洋|路|街|洲|府|京|港|城|寺|庙|站|大学|学院|医院|中心|广场|机场|公园|半岛|盆地|平原|大陆|地区|境内|附近)"
    r"|(?:中国|美国|日本|英国|法国|德国|北京|上海|香港|台湾|广东|欧洲|亚洲|非洲|[东西南北]部)|[A-Za-z][A-Za-z.-]+"
)
_SHARE = re.compile(r"\d\s*%|percent|百分|成|half|third|quarter|majority|ratio")
_REASON = re.compile(
    r"\b(?:because|since|due|as a result|therefore|so that|so as|in order|caus\w*|reasons?|led to|leads? to|thus)\b"
    r"|\b(?:hence|to avoid|to prevent|to ensure|for fear|owing|thanks to|by \w+ing)\b"
    r"|因为|由于|因此|所以|为了|导致|原因|致使|以便|因而|从而|基于|出于|避免",
    re.IGNORECASE,
)


def has_new_item(kind: AnswerKind, text: str, known: frozenset[str], *, chinese: bool, question: str) -> bool:
    """Does the text (NFKC, Simplified where Chinese) hold something of this kind that the question does not?

    known: the question's words in small letters; question: its text, Simplified.
    """
    if kind == "date":
        return any(item.lower() not in known and item not in question for item in _DATE.findall(text))
    if kind == "number":
        return any(item.lower().strip(".,:") not in known and item not in question for item in _NUMBER.findall(text))
    if kind == "reason":
        return bool(_REASON.search(text))
    if kind in ("person", "place"):
        if chinese:
            pattern = _PERSON_ZH if kind == "person" else _PLACE_ZH
            return any(item not in question for item in pattern.findall(text))
        return any(item.lower() not in known and item.lower() not in ENGLISH for item in _PROPER.findall(text))
    return True


def counts(unit: str, text: str, *, chinese: bool) -> bool:
    """Is there a number of these? `unit`: the beginning of an English word, or a Chinese character; small letters."""
    if unit.startswith(("percent", "百分", "比例")):
        return bool(_SHARE.search(text))
    if chinese:
        return bool(re.search(rf"[\d零一二两三四五六七八九十百千万亿半]\s?[多余几来]?{re.escape(unit)}", text))
    return any(unit in text[match.end() : match.end() + NEAR_CHARS] for match in _NUMBER.finditer(text))
