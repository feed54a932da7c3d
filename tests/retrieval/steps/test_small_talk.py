import pytest

from retrieval.steps.query.small_talk import small_talk_kind


@pytest.mark.parametrize(
    "text",
    [
        "Hello!", "hi there", "Good morning, everyone", "How are you?", "你好", "您好！", "大家好呀", "早安", "午安",
        "嗨，在吗？", "哈囉", "你好嗎？", "早上好！", "晚上好～",
    ],
)  # fmt: skip
def test_a_greeting_is_recognised_in_either_script(text: str) -> None:
    assert small_talk_kind(text) == "small_talk"


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!", "thank you so much", "ok thanks, bye", "OK, got it. Thanks!", "谢谢", "多谢您的帮助", "謝謝您！",
        "好的，謝謝", "感謝您的幫助", "再見", "再會", "拜拜", "辛苦了",
    ],
)  # fmt: skip
def test_thanks_and_farewells_are_recognised_in_either_script(text: str) -> None:
    assert small_talk_kind(text) == "thanks"


@pytest.mark.parametrize(
    "text",
    [
        "", "???", "Hello, what is the resit fee?", "Thanks. And in 2023?", "Hi-Fi rental", "你好，请问学费多少？",
        "謝謝，那研究生呢？", "感谢信怎么写？", "再見習一次可以嗎", "Good morning lectures", "ok", "好的", "you, all",
    ],
)  # fmt: skip
def test_what_might_be_a_question_or_a_reply_is_no_small_talk(text: str) -> None:
    assert small_talk_kind(text) is None
