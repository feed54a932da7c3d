"""Where sentences end, in any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.text.languages import shown_language
from retrieval.engine.text.sentences import sentence_spans, split_sentences


def test_sentences_keep_abbreviations_numbers_and_quotes_together() -> None:
    text = "Dr. Smith pays 3.5 euro, e.g. by card. Does he? 他说：“走吧。”然后走了！\n\nNext part"
    assert split_sentences(text) == [
        "Dr. Smith pays 3.5 euro, e.g. by card.",
        "Does he?",
        "他说：“走吧。”",
        "然后走了！",
        "Next part",
    ]


@given(st.text(alphabet='ab. 。！\n"”?1', max_size=80))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    spans = sentence_spans(text)
    assert all(text[span.start : span.end] == span.text for span in spans)
    assert "".join("".join(span.text.split()) for span in spans) == "".join(text.split())


TEXTS = [
    [
        "Die Frist endet am 23. Februar um 10 Uhr.",
        "Abzugeben ist bei Hrn. Dr. med. Brandt, Zi. 21, 3. OG.",
        "Danach nicht.",
    ],
    [
        "Take it 45 min. before dinner, see sec. 9.",
        "It was found by Kennedy Jr. Smith in Feb. 1958.",
        "Is it?",
        "Yes.",
    ],
    [
        "Gehen Sie z. B. zu Frau Prof. Weber.",
        "Das kostet ca. 5 Euro usw. je Tag.",
        "Der Rest folgt.",
    ],
    ["M. Dupont habite au no. 5, cf. art. 12 du bail.", "« Il vient. »", "Elle part à 14 heures."],
    ["El Sr. García vive en la Av. Sur núm. 5.", "¿Cuándo llega?", "Mañana."],
    ["Il sig. Rossi abita al n. 5 di via Roma.", "Il dott. Bianchi arriva domani."],
    ["O Sr. Silva chega às 18 horas.", "A porta fecha depois."],
    ["Dhr. Jansen woont op nr. 8.", "Het kost bijv. 5 euro."],
    ["Wniosek składa się u dr. Nowaka, ul. Długa 5, w biurze.", "Kosztuje ok. 80 zł."],
    ["Lämna den till dr. Berg kl. 12 på kontoret.", "Sedan är det stängt."],
    ["Подать в каб. 12, ул. Мира, д. 5, до обеда.", "Позже нельзя."],
    ["5. katta Sn. Yılmaz ile görüşün.", "Sonra kapanır."],
    ["期限は5月3日です。", "遅れないでください！", "「はい。」", "と言った。"],
    ["押金是三百元。", "他说：“走吧。”", "真的吗？"],
    ["यह नियम है।", "दूसरा वाक्य है।"],
    ["הספרייה נסגרת בשעה שמונה.", "האיחור עולה חמישה שקלים."],
    ["ბიბლიოთეკა იკეტება რვაზე.", "დაგვიანება ხუთი ლარია."],
    ["신청은 사무실에서 할 것.", "마감은 금요일이다."],
    ["Khoản tiền sẽ được trả lại.", "Hãy mang theo giấy tờ."],
    ["Thư viện ở tầng 3.", "Sách trả muộn bị phạt."],
    ["Бібліотека на поверсі 3.", "Прострочення коштує дорого."],
]


@pytest.mark.parametrize("sentences", TEXTS, ids=lambda sentences: sentences[0][:16])
def test_no_abbreviation_ends_a_sentence_and_every_sentence_ends(sentences: list[str]) -> None:
    parted = "" if sentences[0].endswith("。") else " "
    assert split_sentences(parted.join(sentences)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "It is in node.js at example.org/a.html or v1.2.3 now.",
        "Run `make it. Now go` to begin.",
        "It is “really! so” they said.",
        "The path is 5 km; see e.g. the map.",
    ],
)
def test_a_stop_within_a_sentence_ends_none(text: str) -> None:
    assert split_sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It costs EUR 55. Pay online.", "It costs EUR 55."),
        ("The path is 5 km. Bring water.", "The path is 5 km."),
        ("It is written in HTML. Read it.", "It is written in HTML."),
        ("Yes. The fee stays.", "Yes."),
        ("It is 5 euros a day.\n   No more.", "It is 5 euros a day."),
        ("Ja. Die Frist gilt.", "Ja."),
        ("It is **closed.** Come later.", "It is **closed.**"),
        ("It is so [1]. Then go.", "It is so [1]."),
        ("他走了……第二天回来。", "他走了……"),
    ],
)
def test_a_sentence_ends_behind_numbers_units_and_markup(text: str, first: str) -> None:
    assert split_sentences(text)[0] == first


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Die Frist endet am Montag.", "de"),
        ("It is the fee.", "en"),
        ("Zi. 12", "und"),
        ("押金是多少", "zh"),
        ("押金是多少錢", "zh"),
        ("Kütüphane saat sekizde kapanır.", "tr"),
        ("Biblioteka jest zamknięta w niedziele.", "pl"),
        ("HNSW, M, ef", "und"),
        ("", "und"),
    ],
)
def test_a_language_is_shown_where_a_text_leaves_no_doubt(text: str, language: str) -> None:
    assert shown_language(text) == language


@pytest.mark.parametrize("pump", ["a", ".", "a. ", "。", "« a. ", "`a. ", "\n", "Dr. ", '". '])
def test_a_text_of_any_kind_is_read(pump: str) -> None:
    """What takes quadratic time runs into the test's time limit."""
    text = pump * (200_000 // len(pump))
    assert "".join(span.text for span in sentence_spans(text)).replace(" ", "")[
        :1000
    ] in text.replace(" ", "")
