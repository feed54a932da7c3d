"""Sentences that the site itself says, in the question's language, where no model writes them."""

from __future__ import annotations

import re

from retrieval.text.answer_language import Language

PAGES = "/documents/"  # of this site; a document's is below it
_PHRASES: dict[str, dict[str, str]] = {
    "small_talk": {
        "en": "Hello! Ask me anything about your documents.",
        "zh-hans": "您好！有关文档的问题，尽管问我。",
        "zh-hant": "您好！有關文件的問題，儘管問我。",
    },
    "thanks": {
        "en": "You're welcome! Ask me anything else about your documents.",
        "zh-hans": "不客气！还有其他有关文档的问题，尽管问我。",
        "zh-hant": "不客氣！還有其他有關文件的問題，儘管問我。",
    },
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
    "other_versions": {
        "en": "Other versions: ",
        "zh-hans": "其他版本：",
        "zh-hant": "其他版本：",
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
    "clarify_policy_year": {
        "en": "Which year do you mean?",
        "zh-hans": "您指的是哪一年？",
        "zh-hant": "您指的是哪一年？",
    },
    "clarify_department": {
        "en": "Which department do you mean?",
        "zh-hans": "您指的是哪个部门？",
        "zh-hant": "您指的是哪個部門？",
    },
    "clarify_doc_type": {
        "en": "Which kind of document do you mean?",
        "zh-hans": "您指的是哪一类文件？",
        "zh-hant": "您指的是哪一類文件？",
    },
    "clarify_heading": {
        "en": "Which of these is your question about?",
        "zh-hans": "您的问题是关于以下哪一项？",
        "zh-hant": "您的問題是關於以下哪一項？",
    },
    "clarify_title": {
        "en": "Which of these is your question about?",
        "zh-hans": "您的问题是关于以下哪一项？",
        "zh-hant": "您的問題是關於以下哪一項？",
    },
}  # fmt: skip


def phrase(name: str, language: Language) -> str:
    return _PHRASES[name]["en" if language == "other" else language]


def document_page(document_id: str) -> str:
    """Its address on this site."""
    return f"{PAGES}{document_id}/"


def link(title: str, address: str) -> str:
    """Markdown; a title is one line."""
    escaped = re.sub(r"([\\\[\]`*_<])", r"\\\1", title)
    return f"[{escaped}]({address})"
