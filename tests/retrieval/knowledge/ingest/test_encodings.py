"""Encodings are recognised by content, for long texts and for short ones."""

from __future__ import annotations

import pytest

from retrieval.knowledge.ingest.text import declared_encoding, decode_text, detect_encoding

SIMPLIFIED = "员工请假应当提前三天申请，由部门负责人批准。病假须附医院证明。"
TRADITIONAL = "學生宿舍應於晚間十一時前關閉，違反規定者由舍監登記處理。"
JAPANESE = "学生は図書館で十冊まで本を借りることができます。"
KOREAN = "학생은 도서관에서 책을 열 권까지 빌릴 수 있습니다."
WESTERN = "Les étudiants doivent déposer leur mémoire à la faculté avant l’été."
RUSSIAN = "Студенты должны сдать работу до конца учебного года, не позднее июня."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SIMPLIFIED, "utf-8"),
        (SIMPLIFIED, "utf-8-sig"),
        (SIMPLIFIED, "utf-16"),
        (SIMPLIFIED, "utf-32"),
        (SIMPLIFIED + "\nWith a line of English, so that zero bytes show.", "utf-16-le"),
        (SIMPLIFIED, "gb2312"),
        (SIMPLIFIED, "gb18030"),
        ("你好", "gbk"),
        (TRADITIONAL, "big5"),
        ("宿舍管理規則", "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("こんにちは", "shift_jis"),
        (JAPANESE, "iso2022_jp"),
        (KOREAN * 3, "euc_kr"),
        (WESTERN, "cp1252"),
        ("Müller", "latin-1"),
        ("Straße über Köln", "latin-1"),
        (RUSSIAN * 3, "cp1251"),
        ("plain ASCII", "ascii"),
    ],
)
def test_text_is_decoded_whatever_its_encoding(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding)) == text


def test_declared_encoding_of_a_page_is_used() -> None:
    page = '<html><head><meta charset="gb2312"></head><body>镕</body></html>'  # outside GB 2312, inside GBK
    data = page.encode("gbk")
    assert decode_text(data, declared=declared_encoding(data)) == page


def test_wrongly_declared_encoding_is_not_believed() -> None:
    data = ('<meta charset="shift_jis">' + SIMPLIFIED * 3).encode("gbk")
    assert SIMPLIFIED in decode_text(data, declared="shift_jis")


@pytest.mark.parametrize("encoding", ["gb18030", "utf-8"])
def test_single_broken_byte_does_not_cost_the_encoding(encoding: str) -> None:
    data = bytearray((SIMPLIFIED * 20).encode(encoding))
    data[100] = 0xFF
    assert detect_encoding(bytes(data)) == encoding
    assert SIMPLIFIED in decode_text(bytes(data))


@pytest.mark.parametrize("text", ["The buoy\0 is red. ", "log line 1\0\0\n", "a row\0\n"])
def test_zero_bytes_in_ascii_are_damage_and_no_utf_16(text: str) -> None:
    assert decode_text((text * 100).encode()) == text * 100


@pytest.mark.parametrize(
    "text", ["The buoy is red.\n", "灯塔高度为32 m。\n", "A4 纸 5 元\n", f"{JAPANESE}\n"]
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_needs_no_mark(text: str, encoding: str) -> None:
    assert decode_text((text * 3).encode(encoding)) == text * 3
