import pytest
from django.conf import settings

from retrieval.steps.query.condense import Condense, chooses, condense_without_model, is_reply, points_back, takes_up
from retrieval.steps.step import Asked
from retrieval.values import Clarification, HistoryMessage, OpenClarification
from tests.retrieval.steps.fakes import ask, context, make_tools, start_run

HISTORY = (
    HistoryMessage("user", "How much is the resit fee?"),
    HistoryMessage("assistant", "EUR 55. [1]"),
)
YEARS = OpenClarification(
    question="How many books may I borrow?",
    clarification=Clarification(question="Which year do you mean?", options=("2025", "2022")),
)

OTHER = OpenClarification(
    question="How many books may I borrow?",
    clarification=Clarification(question="Which department do you mean?", options=("Library", "Registry")),
)


@pytest.mark.parametrize("text", ["What about 2024?", "Is it due in July?", "它什么时候截止？", "那研究生呢？", "Why?"])
def test_a_message_that_points_back_is_recognised(text: str) -> None:
    assert points_back(text)


@pytest.mark.parametrize(
    "text",
    [
        "How many books may an undergraduate borrow?",
        "图书馆研讨室最多可以提前几天预约？",
        "其他院系的转专业申请条件有哪些规定？",
        "When does module registration for the autumn term 2026 close?",
    ],
)
def test_a_question_that_stands_on_its_own_is_left_alone(text: str) -> None:
    assert not points_back(text)
    assert condense_without_model(ask(text, history=HISTORY)) == text


def test_without_a_model_a_follow_up_is_joined_with_the_last_question() -> None:
    assert (
        condense_without_model(ask("What about 2023?", history=HISTORY))
        == "How much is the resit fee? What about 2023?"
    )


def conversation(*messages: str) -> tuple[HistoryMessage, ...]:
    """The user's and the site's by turns."""
    return tuple(HistoryMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(messages))


def test_a_follow_up_of_a_follow_up_is_still_about_the_first_question() -> None:
    history = conversation("How many books may students borrow?", "Ten. [1]", "And staff?", "Twenty. [1]")
    joined = condense_without_model(ask("And for how long?", history=history))
    assert joined == "How many books may students borrow? And staff? And for how long?"


def test_a_follow_up_of_a_reply_is_about_the_question_that_was_asked_back() -> None:
    asked = ("When does work on the crane start?", "Which of these is your question about?")
    history = conversation(*asked, "Minutes of the Quay Board, 11 June 2024", "On 14 October. [1]")
    joined = condense_without_model(ask("How much does it cost?", history=history))
    assert joined.startswith("When does work on the crane start?")


def test_a_question_that_stands_on_its_own_ends_what_a_follow_up_is_about() -> None:
    history = conversation("How much is the resit fee?", "EUR 55.", "When does the library open?", "At nine.")
    assert condense_without_model(ask("And close?", history=history)) == "When does the library open? And close?"


def test_of_a_long_row_of_follow_ups_the_first_and_the_last_ones_count() -> None:
    history = conversation("How much is the fee?", "5.", "And b?", "6.", "And c?", "7.", "And d?", "8.")
    assert condense_without_model(ask("And e?", history=history)) == "How much is the fee? And c? And d? And e?"


def test_the_year_of_an_earlier_follow_up_stays() -> None:
    history = conversation("What was the resit fee in 2023?", "EUR 40.", "And in 2025?", "EUR 55.")
    assert condense_without_model(ask("And for Masters?", history=history)) == (
        "What was the resit fee in 2025? And for Masters?"
    )


@pytest.mark.parametrize("text", ["And in 2022?", "2022", "What about 2022 then?", "那2022年呢？", "那麼2022呢"])
def test_without_a_model_another_year_takes_the_place_of_the_last_questions(text: str) -> None:
    history = (HistoryMessage("user", "What was the resit fee in 2023?"), HistoryMessage("assistant", "EUR 40. [1]"))
    assert condense_without_model(ask(text, history=history)) == "What was the resit fee in 2022?"


def test_a_comparison_with_another_year_keeps_both() -> None:
    history = (HistoryMessage("user", "What was the resit fee in 2023?"),)
    joined = condense_without_model(ask("How does that compare with 2025?", history=history))
    assert "2023" in joined
    assert "2025" in joined


@pytest.mark.parametrize("text", ["2022", "the one of 2022", "２０２５", "both of them"])
def test_an_option_or_a_few_words_answer_an_open_clarification(text: str) -> None:
    assert is_reply(text, YEARS)
    assert "How many books may I borrow?" in condense_without_model(ask(text, open_clarification=YEARS))


@pytest.mark.parametrize("text", ["I mean the rules that came in 2022, the older ones of the two", "２０２２ please"])
def test_a_message_that_names_an_option_and_asks_nothing_chooses_it(text: str) -> None:
    assert chooses(text, YEARS)
    assert is_reply(text, YEARS)


@pytest.mark.parametrize("text", ["What changed in 2022?", "both of them", "the older ones"])
def test_other_words_choose_no_option(text: str) -> None:
    assert not chooses(text, YEARS)


def test_the_same_question_in_more_detail_takes_it_up_and_another_one_does_not() -> None:
    assert takes_up("How many books may I borrow? (2022)", YEARS)
    assert takes_up("How many books may I borrow under the rules of 2022?", YEARS)
    assert not takes_up("How much is the resit fee in 2022?", YEARS)
    assert not takes_up("How many books may I borrow?", None)


@pytest.mark.parametrize("text", ["What is the resit fee?", "校长奖学金是多少？", "???"])
def test_a_new_question_is_not_taken_for_the_reply(text: str) -> None:
    assert not is_reply(text, YEARS)


async def test_the_model_makes_a_follow_up_self_contained(online) -> None:
    online.reply(structured=True, json={"standalone_question": "How much was the resit fee in 2023?"})
    run = start_run(settings.RAG)
    question = ask("And in 2023?", history=HISTORY)
    text = await Condense(context(make_tools(settings.RAG), run))(Asked(question, "draft"))
    assert text == "How much was the resit fee in 2023?"
    assert "User: How much is the resit fee?" in online.chats[0].prompt


async def test_a_model_that_fails_leaves_the_draft_and_says_so(online) -> None:
    online.reply(status=500, error="out of memory")
    run = start_run(settings.RAG)
    question = ask("And in 2023?", history=HISTORY)
    text = await Condense(context(make_tools(settings.RAG), run))(Asked(question, "the draft"))
    assert text == "the draft"
    assert run.trace.degraded[0]["step"] == "condense"


async def test_no_model_is_asked_about_the_first_question(online) -> None:
    run = start_run(settings.RAG)
    await Condense(context(make_tools(settings.RAG), run))(Asked(ask("Resit fee?"), "Resit fee?"))
    assert run.trace.steps[0].status == "skipped"
    assert not online.chats


ASKED_BACK = (HistoryMessage("user", YEARS.question), HistoryMessage("assistant", "Which year do you mean?"))


async def test_a_chosen_option_needs_no_model(online) -> None:
    run = start_run(settings.RAG)
    question = ask("2022", history=ASKED_BACK, open_clarification=YEARS)
    draft = condense_without_model(question)
    text = await Condense(context(make_tools(settings.RAG), run))(Asked(question, draft))
    assert text == "How many books may I borrow? (2022)"
    assert not online.chats


async def test_whether_own_words_are_the_reply_or_a_new_question_is_the_models_to_say(online) -> None:
    online.reply(structured=True, json={"standalone_question": "What is the resit fee in 2025?"})
    run = start_run(settings.RAG)
    question = ask("resit fee 2025, sorry", history=ASKED_BACK, open_clarification=OTHER)
    draft = condense_without_model(question)
    text = await Condense(context(make_tools(settings.RAG), run))(Asked(question, draft))
    assert text == "What is the resit fee in 2025?"
    assert "Which year do you mean?" in online.chats[0].prompt
    assert not takes_up(text, OTHER)
