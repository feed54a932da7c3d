"""jieba's segmentation with the dictionary in a trie: the same words, from files of our own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.text import chinese_words
from retrieval.text.chinese_words import dictionary_of_jieba, load_segmenter, write_dictionary


@pytest.fixture(scope="module")
def segmenter():
    return load_segmenter()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """jieba as it is, which keeps its cache in a folder of the test's."""
    tokenizer = chinese_words.jieba.Tokenizer()
    tokenizer.tmp_dir = str(tmp_path_factory.mktemp("jieba"))
    tokenizer.initialize()
    return tokenizer


def test_the_files_hold_the_installed_jiebas_dictionary(segmenter):
    assert dict(segmenter.FREQ.items()) == dictionary_of_jieba()
    assert segmenter.total == sum(dictionary_of_jieba().values())


@pytest.mark.parametrize(
    "text",
    [
        "我来到北京清华大学", "小明硕士毕业于中国科学院计算所,后在日本京都大学深造", "研究生命起源",
        "他来到了网易杭研大厦", "乒乓球拍卖完了", "永和服装饰品有限公司", "本科生可以借多少本书?", "圖書館的開放時間",
        "B超 C++ 3.14万元 T恤", "的的的的", "龘靐齉", "", "a", "工信处女干事每月经过下属科室",
    ],
)  # fmt: skip
def test_words_are_cut_as_by_jieba(segmenter, plain, text):
    assert segmenter.lcut(text) == plain.lcut(text)
    assert segmenter.lcut_for_search(text) == plain.lcut_for_search(text)


@given(st.text(alphabet="中国北京大学生图书馆的了在研究所长春市长江桥龘𠀀一二三1aB 。", max_size=40))
def test_any_text_is_cut_as_by_jieba(segmenter, plain, text):
    assert segmenter.lcut(text) == plain.lcut(text)


def test_nothing_is_read_from_or_written_to_the_machines_temporary_folder(tmp_path):
    (tmp_path / "jieba.cache").write_bytes(b"planted")
    program = "from retrieval.text.analysis import analyze; print(*analyze('北京大学图书馆'))"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert "图书馆" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]
    assert (tmp_path / "jieba.cache").read_bytes() == b"planted"


@pytest.mark.parametrize("words", [{"北京": 0}, {"长" * 17: 3}])
def test_a_dictionary_that_the_segmenter_could_not_use_is_refused(words, monkeypatch, tmp_path):
    monkeypatch.setattr(chinese_words, "FOLDER", tmp_path / "there")
    with pytest.raises(ValueError, match="16 characters"):
        write_dictionary(words)
    assert not (tmp_path / "there").exists()
