import pytest

from retrieval.steps.query.question_parts import choose_transformation, split_question, step_back_without_model


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What is form REG-12 for and when is its deadline?",
         ["What is form REG-12 for", "when is its deadline form REG-12"]),
        ("What are the fees? When are they due?", ["What are the fees", "When are they due fees"]),
        ("What is the difference between annual leave and special leave for staff?",
         ["annual leave for staff", "special leave for staff"]),
        ("Which is cheaper, Lakeside hall or Bamboo hall?",
         ["Which is cheaper Lakeside hall", "Which is cheaper Bamboo hall"]),
        ("How do the loan limits of undergraduates, postgraduates and staff differ?",
         ["the loan limits of undergraduates", "the loan limits of postgraduates", "the loan limits of staff"]),
        ("馆际互借怎么申请，费用是多少？", ["馆际互借怎么申请", "费用是多少 馆际互借"]),
        ("本科生、研究生和教职工的借书数量有什么区别？", ["本科生的借书数量", "研究生的借书数量", "教职工的借书数量"]),
        ("湖畔樓與竹園的押金分別是多少？", ["湖畔樓的押金 是多少", "竹園的押金 是多少"]),
    ],
)  # fmt: skip
def test_a_compound_question_is_split_and_the_shared_subject_kept(question: str, parts: list[str]) -> None:
    assert split_question(question) == parts
    assert choose_transformation(question) == "decompose"


@pytest.mark.parametrize(
    "question",
    [
        "How much is tuition for an international student in a science and engineering bachelor in 2026?",
        "申请转专业，平均成绩要求是多少？",
        "How long can I take leave?",
        "vs",
        "compare and",
        ", or, or? differ",
        "😀",
    ],
)
def test_a_simple_question_is_left_whole(question: str) -> None:
    assert split_question(question) == []
    assert choose_transformation(question) is None


def test_no_question_has_more_than_four_parts() -> None:
    assert len(split_question("What is A1? What is B2? What is C3? What is D4? What is E5?")) == 4


def test_an_error_is_worth_a_step_back() -> None:
    assert choose_transformation("Why does eduroam show error NLU-E107?") == "step_back"
    assert choose_transformation("为什么 Kubernetes Pod 启动时出现 ImagePullBackOff？") == "step_back"


@pytest.mark.parametrize(
    ("question", "broader"),
    [
        ("Why does Wi-Fi error NLU-E107 appear when I connect my phone?", "Why does Wi-Fi error appear"),
        ("为什么 Kubernetes Pod 启动时出现 ImagePullBackOff 错误?", "为什么 Kubernetes Pod 启动时出现 错误"),
        ("How large is the deposit?", ""),
        ("What is REG-12?", ""),
    ],
)
def test_the_step_back_drops_codes_and_circumstances(question: str, broader: str) -> None:
    assert step_back_without_model(question) == broader
