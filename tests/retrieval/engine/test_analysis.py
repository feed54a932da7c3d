"""One analysis for indexing, querying and matching."""

from __future__ import annotations

import re
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrieval.engine.text.analysis import analyze, query_terms, search_terms, terms_text
from retrieval.engine.text.languages import detect_language
from retrieval.engine.text.words import MAX_TERM_CHARS


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("The regulations were amended.", "amending a regulation"),
        ("圖書館開放時間", "图书馆"),
        ("学生证遗失后应当补办", "補辦學生證"),
        ("Die Prüfungen wurden verschoben", "Prüfung"),
        ("Café Résumé", "cafe resume"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
        ("Version v1.2.3 is out", "V1.2.3"),
        ("on 2025/03/01", "2025-03-01"),
        ("costs 1,000 euro", "1000"),
        ("東京の天気予報", "天気予報"),
        ("Reset your pass\u200bword", "password"),
        ("the rules", "the\u00ad ru\u00adles"),
        ("Haus\u00adordnung", "Hausordnung"),
        ("我们用.NET开发", ".net"),
        ("The tool (.NET) is old", ".NET"),
    ],
)
def test_what_means_the_same_meets(document: str, query: str) -> None:
    terms = query_terms(query)
    assert terms
    assert set(terms) <= set(analyze(document))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("ImagePullBackOff", "imagepullbackoff"),
        ("since 2025-03", "2025_03"),
        ("§12.3", "12_3"),
        ("ERR_42", "err_42"),
        ("COVID-19", "covid_19"),
        ("settings.yaml", "settings_yaml"),
        ("at 10:30", "10_30"),
        ("C++", "c_plus_plus"),
        ("C#", "c_sharp"),
        (".NET", "dot_net"),
        ("Node.js", "node_js"),
        ("5G", "5g"),
    ],
)
def test_codes_and_numbers_stay_whole(text: str, whole: str) -> None:
    assert whole in analyze(text)
    assert whole in query_terms(text)


@pytest.mark.parametrize("text", ["It ends.Next it begins", "and ...more", "see (a).Next"])
def test_a_full_stop_begins_no_term(text: str) -> None:
    assert [term for term in analyze(text) if term.startswith("dot")] == []


def test_stop_words_are_dropped_but_not_acronyms_or_negations() -> None:
    assert analyze("what is the WHO? It is in the IT department") == ["who", "it", "depart"]
    assert "not" in analyze("It isn't allowed")
    assert query_terms("我们的什么") == []


@pytest.mark.parametrize(
    ("document", "question", "name"),
    [
        ("硕塞是清太宗的第五子。", "硕塞是如何被提升为亲王的？", "硕塞"),
        ("白岳峰是中国足球运动员。", "白岳峰现效力于哪支球队？", "岳峰"),
        ("津蓟铁路沿线设有车站。", "津蓟铁路沿线设置了哪几个站点？", "津蓟"),
        ("津薊鐵路沿線設有車站。", "津薊鐵路沿線設置了哪幾個站點？", "津蓟"),
        ("于乐，前中国足球运动员。", "2012年于乐以什么方式加盟？", "于乐"),
    ],
)
def test_a_chinese_name_is_searched_for_whatever_stands_beside_it(
    document: str, question: str, name: str
) -> None:
    assert name in set(search_terms(question)) & set(analyze(document))


@given(st.text(alphabet=st.characters(), max_size=200))
@example("㏠𠀀")  # each Chinese character stands in the field once more
def test_a_plain_tokenizer_leaves_terms_as_they_are(text: str) -> None:
    terms, field = analyze(text), terms_text(text)
    assert (
        re.findall(r"\w+", field.lower()) == field.split()
    )  # Milvus Lite: `standard`; a server: `whitespace`
    assert set(terms) <= set(field.split())
    assert all(0 < len(term) <= MAX_TERM_CHARS for term in terms)


def test_threads_get_the_same_terms() -> None:
    text = "Running regulations 圖書館開放時間 generalizations nationalities"
    expected, seen = analyze(text), []
    threads = [
        threading.Thread(target=lambda: seen.extend(analyze(text) for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80
    assert all(terms == expected for terms in seen)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I renew my card?", "en"),
        ("ImagePullBackOff", "und"),
        ("Ile kosztuje wynajem szopy na łodzie?", "pl"),
        ("Kayıkhanenin kirası ne kadar?", "tr"),
        ("Hoeveel kost de huur van het botenhuis?", "nl"),
        ("¿Cuánto cuesta alquilar el cobertizo?", "es"),
        ("Quanto costa affittare la rimessa?", "it"),
        ("Combien coûte la location du hangar ?", "fr"),
        ("Quanto custa alugar o galpão?", "pt"),
        ("Vad kostar det att hyra båthuset?", "sv"),
        ("Thuê nhà thuyền giá bao nhiêu?", "vi"),
        ("Скільки коштує оренда човна?", "uk"),
        ("What does 不可抗力 mean?", "en"),
        ("Was bedeutet 不可抗力 im Vertrag?", "de"),
        ("HNSW 的 efConstruction 参数怎么设", "zh-hans"),
        ("图书馆几点关门？", "zh-hans"),
        ("圖書館幾點關門？", "zh-hant"),
        ("请问 Kubernetes 的 ImagePullBackOff 怎么处理", "zh-hans"),
        ("図書館は何時に閉まりますか", "ja"),
        ("학생증을 잃어버렸어요", "ko"),
        ("Wie kann ich meinen Ausweis verlängern und was kostet das?", "de"),
        ("Где находится библиотека", "ru"),
        ("12345 😀", "und"),
        ("", "und"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert detect_language(text) == language
