"""Sentences that the site itself says, in the question's language, where no model writes them.

A line that leads into what follows ends in a colon: it states nothing that passages would have to bear out.
"""

from __future__ import annotations

from retrieval.text.answer_language import Language

_PHRASES: dict[str, dict[str, str]] = {
    "no_documents": {
        "en": "There are no documents here to search yet. Upload some, or choose a collection that holds documents.",
        "zh-hans": "这里还没有可以检索的文档。请先上传文档，或选择有文档的文档库。",
        "zh-hant": "這裡還沒有可以檢索的文件。請先上傳文件，或選擇有文件的文件庫。",
    },
    "nothing_found": {
        "en": "I don't know: nothing in the documents that you can see matches this question. "
        "Try other words, or choose other collections or filters.",
        "zh-hans": "我不知道：您可以查看的文档中没有与这个问题匹配的内容。请换一种说法，或选择其他文档库或筛选条件。",
        "zh-hant": "我不知道：您可以查看的文件中沒有與這個問題相符的內容。請換一種說法，或選擇其他文件庫或篩選條件。",
    },
    "found_but_weak": {
        "en": "I don't know: the documents that you can see do not seem to answer this question.",
        "zh-hans": "我不知道：您可以查看的文档似乎没有回答这个问题。",
        "zh-hant": "我不知道：您可以查看的文件似乎沒有回答這個問題。",
    },
    "not_accepted": {
        "en": "This is the nearest I found; it may not answer the question fully.",
        "zh-hans": "以下是我找到的最接近的内容，可能没有完全回答这个问题。",
        "zh-hant": "以下是我找到的最接近的內容，可能沒有完全回答這個問題。",
    },
    "no_model": {
        "en": "No language model is connected, so I can't tell whether this answers your question. "
        "The closest passages:",
        "zh-hans": "没有连接语言模型，所以我无法判断以下内容是否回答了您的问题。最接近的段落：",
        "zh-hant": "沒有連接語言模型，所以我無法判斷以下內容是否回答了您的問題。最接近的段落：",
    },
    "model_failed": {
        "en": "The language model gave no answer, so I can't tell whether this answers your question. "
        "The closest passages:",
        "zh-hans": "语言模型没有给出回答，所以我无法判断以下内容是否回答了您的问题。最接近的段落：",
        "zh-hant": "語言模型沒有給出回答，所以我無法判斷以下內容是否回答了您的問題。最接近的段落：",
    },
    "closest": {
        "en": "The closest passages:",
        "zh-hans": "最接近的段落：",
        "zh-hant": "最接近的段落：",
    },
    "web_searched": {
        "en": "A search of the web brought no answer, either.",
        "zh-hans": "在网上搜索也没有找到答案。",
        "zh-hant": "在網路上搜尋也沒有找到答案。",
    },
    "web_away": {
        "en": "The web could not be searched just now; ask again later to have it searched, too.",
        "zh-hans": "目前无法搜索网络；稍后再问一次，就会一并搜索。",
        "zh-hant": "目前無法搜尋網路；稍後再問一次，就會一併搜尋。",
    },
    "clarify": {
        "en": "Which of these is your question about?",
        "zh-hans": "您的问题是关于以下哪一项？",
        "zh-hant": "您的問題是關於以下哪一項？",
    },
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
