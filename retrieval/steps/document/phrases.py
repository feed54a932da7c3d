"""What the site itself says in an answer about a whole document, in the question's language.

A line that leads into what follows ends in a colon: it states nothing that passages would have to bear out.
"""

from __future__ import annotations

from retrieval.text.answer_language import Language

_PHRASES: dict[str, dict[str, str]] = {
    "empty": {
        "en": "“{name}” holds no text that could be read.",
        "zh-hans": "“{name}”中没有可以读取的文字。",
        "zh-hant": "「{name}」中沒有可以讀取的文字。",
    },
    "none_found": {
        "en": "I read all {sections} sections of “{name}” and found nothing of this kind.",
        "zh-hans": "已读完“{name}”的全部 {sections} 节，没有找到此类内容。",
        "zh-hant": "已讀完「{name}」的全部 {sections} 節，沒有找到此類內容。",
    },
    "none_found_in_part": {
        "en": "I read the first {read} of {sections} sections of “{name}” and found nothing of this kind there.",
        "zh-hans": "已读“{name}” {sections} 节中的前 {read} 节，其中没有找到此类内容。",
        "zh-hant": "已讀「{name}」{sections} 節中的前 {read} 節，其中沒有找到此類內容。",
    },
    "outline": {
        "en": "No language model wrote this. The outline of **{name}** ({sections} sections), with the first "
        "sentence of each part:",
        "zh-hans": "本回答未经语言模型撰写。以下是**{name}**的提纲及各部分的首句（共 {sections} 节）：",
        "zh-hant": "本回答未經語言模型撰寫。以下是**{name}**的大綱及各部分的首句（共 {sections} 節）：",
    },
    "outline_in_part": {
        "en": "No language model wrote this. The outline of the first {read} of {sections} sections of **{name}**, "
        "with the first sentence of each:",
        "zh-hans": "本回答未经语言模型撰写。以下是**{name}** {sections} 节中前 {read} 节的提纲及各节的首句：",
        "zh-hant": "本回答未經語言模型撰寫。以下是**{name}** {sections} 節中前 {read} 節的大綱及各節的首句：",
    },
    "read_in_part": {
        "en": "The document is long; this is from the first {read} of its {sections} sections:",
        "zh-hans": "文档较长，以下内容来自其 {sections} 节中的前 {read} 节：",
        "zh-hant": "文件較長，以下內容來自其 {sections} 節中的前 {read} 節：",
    },
    "list": {
        "en": "In **{name}** I found {count}, in the order of the document:",
        "zh-hans": "在**{name}**中找到 {count} 处，按文档顺序列出：",
        "zh-hant": "在**{name}**中找到 {count} 處，按文件順序列出：",
    },
    "list_in_part": {
        "en": "In **{name}** I found {count}; these are the first {shown}, in the order of the document:",
        "zh-hans": "在**{name}**中找到 {count} 处，按文档顺序列出前 {shown} 处：",
        "zh-hant": "在**{name}**中找到 {count} 處，按文件順序列出前 {shown} 處：",
    },
    "list_unread": {
        "en": "Only the first {read} of {sections} sections were read. In them I found {count}; the first {shown}, in "
        "the order of the document:",
        "zh-hans": "只读了 {sections} 节中的前 {read} 节，从中找到 {count} 处，按文档顺序列出前 {shown} 处：",
        "zh-hant": "只讀了 {sections} 節中的前 {read} 節，從中找到 {count} 處，按文件順序列出前 {shown} 處：",
    },
    "differences": {
        "en": "No language model wrote this. Sentences that differ between **{old}** and **{new}** ({changed} changed, "
        "{added} new, {gone} gone):",
        "zh-hans": "本回答未经语言模型撰写。**{old}**与**{new}**之间不同的句子"
        "（更改 {changed}，新增 {added}，删去 {gone}）：",
        "zh-hant": "本回答未經語言模型撰寫。**{old}**與**{new}**之間不同的句子"
        "（更改 {changed}，新增 {added}，刪去 {gone}）：",
    },
    "side_by_side": {
        "en": "No language model wrote this. **{old}** and **{new}** have too little in common to compare their "
        "sentences; these are their outlines:",
        "zh-hans": "本回答未经语言模型撰写。**{old}**与**{new}**相同之处太少，无法逐句比较，以下是两者的提纲：",
        "zh-hant": "本回答未經語言模型撰寫。**{old}**與**{new}**相同之處太少，無法逐句比較，以下是兩者的大綱：",
    },
    "changes_in_part": {
        "en": "There are {count} differences; these are the first {shown}:",
        "zh-hans": "共有 {count} 处不同，以下是前 {shown} 处：",
        "zh-hant": "共有 {count} 處不同，以下是前 {shown} 處：",
    },
    "compared_in_part": {
        "en": "Not all of both documents was compared, only their first {read} of {sections} sections:",
        "zh-hans": "两份文档没有全部比较，只比较了 {sections} 节中的前 {read} 节：",
        "zh-hant": "兩份文件沒有全部比較，只比較了 {sections} 節中的前 {read} 節：",
    },
    "same": {
        "en": "**{old}** and **{new}** say the same: none of their {same} sentences differs.",
        "zh-hans": "**{old}**与**{new}**内容相同：{same} 个句子没有任何不同。",
        "zh-hant": "**{old}**與**{new}**內容相同：{same} 個句子沒有任何不同。",
    },
    "left_out": {
        "en": "The text above does not mention these parts; their first sentences:",
        "zh-hans": "以上没有提到下列部分，其首句为：",
        "zh-hant": "以上沒有提到下列部分，其首句為：",
    },
    "left_out_changes": {
        "en": "The text above does not mention these differences, word for word:",
        "zh-hans": "以上没有提到下列不同之处，原文为：",
        "zh-hant": "以上沒有提到下列不同之處，原文為：",
    },
    "older": {"en": "older", "zh-hans": "旧", "zh-hant": "舊"},
    "newer": {"en": "newer", "zh-hans": "新", "zh-hant": "新"},
    "only_older": {"en": "only in the older", "zh-hans": "仅旧文件有", "zh-hant": "僅舊文件有"},
    "only_newer": {"en": "only in the newer", "zh-hans": "仅新文件有", "zh-hant": "僅新文件有"},
    "changed": {"en": "Changed:", "zh-hans": "更改：", "zh-hant": "更改："},
    "new": {"en": "New:", "zh-hans": "新增：", "zh-hant": "新增："},
    "gone": {"en": "Gone:", "zh-hans": "删去：", "zh-hant": "刪去："},
    "beginning": {"en": "Beginning", "zh-hans": "开头", "zh-hant": "開頭"},
    "page": {"en": "Page {page}", "zh-hans": "第 {page} 页", "zh-hant": "第 {page} 頁"},
    "part": {"en": "Part {number}", "zh-hans": "第 {number} 部分", "zh-hant": "第 {number} 部分"},
}  # fmt: skip


def phrase(which: str, language: Language, /, **values: object) -> str:
    return _PHRASES[which]["en" if language == "other" else language].format(**values)
