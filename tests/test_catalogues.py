"""The catalogues of the interface's texts: complete, in order, and compiled."""

from __future__ import annotations

from itertools import product

import pytest

from ragsite import catalogues

EVERY = list(product(catalogues.LANGUAGES, catalogues.DOMAINS))


@pytest.mark.parametrize(("language", "domain"), EVERY)
def test_every_text_of_the_sources_is_translated_with_its_placeholders(language: str, domain: str) -> None:
    assert catalogues.faults(language, domain) == [], "run: make messages, then translate what it lists"


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_what_is_compiled_is_what_the_catalogues_say(language: str) -> None:
    stale = [path.name for path, content in catalogues.compiled(language).items() if path.read_bytes() != content]
    assert stale == [], "run: make messages"


@pytest.mark.parametrize(("language", "domain"), EVERY)
def test_the_catalogues_stand_in_the_form_that_make_messages_writes(language: str, domain: str) -> None:
    path = catalogues.po_path(language, domain)
    assert path.read_bytes() == catalogues.po_text(catalogues.merged(language, domain)), "run: make messages"


def test_traditional_chinese_uses_its_own_words() -> None:
    mainland = (
        "文档",
        "设置",
        "登录",
        "用户",
        "上传",
        "搜索",
        "文檔",
        "設置",
        "登錄",
        "用戶",
        "搜索",
        "默認",
        "消息",
        "菜單",
    )
    told = [
        (message.id, word)
        for domain in catalogues.DOMAINS
        for message in catalogues.read_catalogue("zh-hant", domain)
        for word in mainland
        if message.id and word in str(message.string)
    ]
    assert told == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{a} of {b:.2f}", {"{a}", "{b}"}),
        ("%(count)d of %(all)s, 100 %", {"%(count)", "%(all)"}),
        ("{{literal}} 5 %s", {"%s"}),
        ("{lone brace", set()),
    ],
)
def test_placeholders_are_the_names_that_values_take_the_place_of(text: str, names: set[str]) -> None:
    assert catalogues.placeholders(text) == names
