"""What the site itself says in an answer about whole documents, in the question's language.

A line that leads into what follows ends in a colon: it states nothing that passages would have to bear out.
"""

from __future__ import annotations

from retrieval.text.answer_language import Language

_PHRASES: dict[str, dict[str, str]] = {
    "missing": {
        "en": "This document is no longer here, or you may no longer read it.",
        "zh-hans": "该文档已不存在，或您已无权查看。",
        "zh-hant": "該文件已不存在，或您已無權查看。",
    },
    "empty": {
        "en": "“{names}” holds no text that could be read.",
        "zh-hans": "“{names}”中没有可以读取的文字。",
        "zh-hant": "「{names}」中沒有可以讀取的文字。",
    },
    "in_part": {
        "en": "Only the first {read} of {total} sections were read.",
        "zh-hans": "只读了 {total} 节中的前 {read} 节。",
        "zh-hant": "只讀了 {total} 節中的前 {read} 節。",
    },
    "outline": {
        "en": "No language model wrote this. The sections of **{names}**, each with its first sentence:",
        "zh-hans": "本回答未经语言模型撰写。以下是**{names}**的各节及其首句：",
        "zh-hant": "本回答未經語言模型撰寫。以下是**{names}**的各節及其首句：",
    },
    "none_found": {
        "en": "I found nothing of what you asked for in “{names}”.",
        "zh-hans": "在“{names}”中没有找到您要的内容。",
        "zh-hant": "在「{names}」中沒有找到您要的內容。",
    },
    "no_list": {
        "en": "A list of deadlines, amounts or contacts needs a language model, and none can be used now. "
        "Open the document to read it, or ask for a summary.",
        "zh-hans": "列出截止日期、金额或联系方式需要语言模型，而现在没有可用的模型。请打开文档阅读，或改为请求摘要。",
        "zh-hant": "列出截止日期、金額或聯絡方式需要語言模型，而現在沒有可用的模型。請開啟文件閱讀，或改為請求摘要。",
    },
    "deadline": {"en": "Deadlines", "zh-hans": "截止日期", "zh-hant": "截止日期"},
    "amount": {"en": "Amounts", "zh-hans": "金额", "zh-hant": "金額"},
    "contact": {"en": "Contacts", "zh-hans": "联系方式", "zh-hant": "聯絡方式"},
    "differences": {
        "en": "The sentences in which **{new}** differs from **{old}** ({changed} changed, {added} new, {gone} gone):",
        "zh-hans": "**{new}**与**{old}**不同的句子（更改 {changed}，新增 {added}，删去 {gone}）：",
        "zh-hant": "**{new}**與**{old}**不同的句子（更改 {changed}，新增 {added}，刪去 {gone}）：",
    },
    "shown": {
        "en": "The first {shown} of {count} are shown.",
        "zh-hans": "以上是 {count} 处中的前 {shown} 处。",
        "zh-hant": "以上是 {count} 處中的前 {shown} 處。",
    },
    "same": {
        "en": "**{old}** and **{new}** say the same: none of their {same} sentences differs.",
        "zh-hans": "**{old}**与**{new}**内容相同：{same} 个句子没有任何不同。",
        "zh-hant": "**{old}**與**{new}**內容相同：{same} 個句子沒有任何不同。",
    },
    "changed": {"en": "Changed:", "zh-hans": "更改：", "zh-hant": "更改："},
    "new": {"en": "New:", "zh-hans": "新增：", "zh-hant": "新增："},
    "gone": {"en": "Gone:", "zh-hans": "删去：", "zh-hant": "刪去："},
    "beginning": {"en": "Beginning", "zh-hans": "开头", "zh-hant": "開頭"},
    "page": {"en": "Page {page}", "zh-hans": "第 {page} 页", "zh-hant": "第 {page} 頁"},
}  # fmt: skip


def phrase(which: str, language: Language, /, **values: object) -> str:
    return _PHRASES[which]["en" if language == "other" else language].format(**values)
