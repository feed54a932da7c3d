"""Knowledge gaps as to-dos: which gap a question is in, who may work on one, and whether it is answered now."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from chat.models import Message, Replay
from chat.review.replay.differences import summary_of
from chat.review.roles import desk_access
from feedback.curation import gap_letters as gap_letters_module
from feedback.curation import gap_selectors, gap_todos
from feedback.curation.gap_letters import gap_letter
from feedback.curation.gap_list import GapFilters, gap_get, gaps_page, gaps_shown, questions_page, wordings_page
from feedback.curation.gap_todos import (
    gap_ask_again,
    gap_document_add,
    gap_document_ready,
    gap_mark,
    gap_merge,
    gap_results_take,
    gap_split,
    gaps_recount,
    gaps_refresh,
)
from feedback.models import GapEvent, GapQuestion, GapRun, KnowledgeGap
from feedback.rounds.personal_data import FeedbackHolder
from ragsite.accounts.letters import Letter
from ragsite.core.errors import InvalidInputError, PermissionDeniedError
from ragsite.models import Account
from retrieval.models import Document
from tests.factories import CollectionFactory, DocumentFactory, MessageFactory, SessionFactory, UserFactory
from tests.feedback.rated import rate
from tests.review.people import ROLES, client_of, person

pytestmark = pytest.mark.django_db
PARKING = "How do I get a parking permit for the campus?"
COSTS = "What does a parking permit for the campus cost?"
GYM = "When does the gym open?"


@pytest.fixture(autouse=True)
def _nothing_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(gap_todos, "replays_queue", lambda: None)


@pytest.fixture
def curator() -> User:
    return person("Curators", username="mei")


def unanswered(text: str = PARKING, *, user: User | None = None, ago_days: float = 0.0, **fields: Any) -> Message:
    session = SessionFactory(user=user or UserFactory())
    asked = MessageFactory(session=session, question=True, text=text)
    fields.setdefault("decision", "NO_ANSWER")
    answer: Message = MessageFactory(session=session, reply_to=asked, text="I found nothing.", **fields)
    Message.objects.filter(pk=answer.pk).update(created_at=timezone.now() - timedelta(days=ago_days))
    return answer


def gap_of(text: str = PARKING) -> KnowledgeGap:
    return GapQuestion.objects.filter(text=text).select_related("gap").latest("pk").gap


def end(run: GapRun, *answered: bool, status: str = "complete") -> None:
    """As if a worker had asked them."""
    for replay, good in zip(run.batch.replays.order_by("created_at", "pk"), answered, strict=True):
        decision = "ANSWER" if good else "NO_ANSWER"
        Replay.objects.filter(pk=replay.pk).update(
            status=status, finished_at=timezone.now(),
            summary={"decision": ["NO_ANSWER", decision], "supported": [False, good]},
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------ identity
def test_questions_on_one_subject_are_a_gap_and_others_another() -> None:
    for text in (PARKING, COSTS, PARKING, GYM):
        unanswered(text)
    assert gaps_refresh() == 2
    gap = gap_of()
    assert (gap_of(COSTS), gap.questions, gap.people, gap.wordings) == (gap, 3, 3, 2)
    assert gap_get(gap.pk).called == PARKING  # type: ignore[attr-defined]
    assert gaps_refresh() == 0


def test_a_gap_stays_the_same_when_another_wording_is_asked_more(curator: User) -> None:
    unanswered(PARKING)
    gaps_refresh()
    gap = gap_mark(access=desk_access(curator), gap=gap_of(), changes={"assignee": "mei"})
    for _ in range(5):
        unanswered(COSTS)
    gaps_refresh()
    assert KnowledgeGap.objects.count() == 1
    assert (gap_of(COSTS).pk, gap_of(COSTS).assignee, gap_of(COSTS).questions) == (gap.pk, curator, 6)


def test_a_wording_stays_in_its_gap_whatever_cluster_it_falls_into(monkeypatch: pytest.MonkeyPatch) -> None:
    unanswered(PARKING)
    unanswered(COSTS)
    monkeypatch.setattr(gap_selectors, "GAP_OVERLAP", 1.0)
    assert gaps_refresh() == 2
    first, second = gap_of(PARKING), gap_of(COSTS)
    monkeypatch.setattr(gap_selectors, "GAP_OVERLAP", 0.3)
    unanswered(PARKING)
    assert gaps_refresh() == 0
    assert (gap_of(PARKING), gap_of(COSTS)) == (first, second)
    assert gap_of(PARKING).questions == 2


def test_a_question_that_was_answered_well_after_all_leaves_its_gap() -> None:
    answer = unanswered(decision="ANSWER")
    rating = rate(answer, 1)
    gaps_refresh()
    assert gap_of().questions == 1
    rating.delete()
    gaps_refresh()
    assert not KnowledgeGap.objects.exists(), "nobody had worked on it"


def test_a_deleted_conversation_takes_its_words_along_and_leaves_the_work(curator: User) -> None:
    unanswered()
    gaps_refresh()
    gap_mark(access=desk_access(curator), gap=gap_of(), changes={"note": "Ask the parking office."})
    asker = Message.objects.get(reply_to__isnull=False).session.user
    asker.delete()
    gaps_refresh()
    gap = KnowledgeGap.objects.get()
    assert (gap.questions, gap.note, GapQuestion.objects.count()) == (0, "Ask the parking office.", 0)
    page = client_of(curator).get(reverse("review_gap", args=[gap.pk])).content.decode()
    assert "Its conversations were deleted" in page and PARKING not in page


def test_the_trend_compares_thirty_days_with_those_before() -> None:
    for days in (1, 2, 40):
        unanswered(ago_days=days)
    gaps_refresh()
    gap = gap_of()
    assert (gap.recent, gap.earlier) == (2, 1)


def test_ten_thousand_questions_are_one_page_and_few_queries(curator: User, django_assert_max_num_queries: Any) -> None:
    answer = unanswered()
    gaps_refresh()
    gap, session = gap_of(), answer.session
    now = timezone.now()
    answers = Message.objects.bulk_create(
        Message(session=session, role="assistant", text="–", reply_to=answer.reply_to, created_at=now)
        for _ in range(10_000)
    )
    GapQuestion.objects.bulk_create(
        GapQuestion(gap=gap, message=one, key=f"{number % 700:032x}", text=f"Parking {number}?", at=now, no_answer=True)
        for number, one in enumerate(answers)
    )
    gaps_recount([gap.pk])
    with django_assert_max_num_queries(45):
        response = client_of(curator).get(reverse("review_gap", args=[gap.pk]))
    assert response.status_code == 200 and len(response.content) < 120_000
    assert "10001" in response.content.decode()
    run = gap_ask_again(access=desk_access(curator), gap=gap)
    assert run.batch.replays.count() == gap_todos.ASKED_AGAIN


# ------------------------------------------------------------------------------------------------ asked again
def test_asked_again_a_gap_tells_which_wordings_are_answered(curator: User) -> None:
    for text in (PARKING, PARKING, COSTS):
        unanswered(text)
    gaps_refresh()
    run = gap_ask_again(access=desk_access(curator), gap=gap_of())
    assert [replay.question for replay in run.batch.replays.order_by("created_at", "pk")] == [PARKING, COSTS]
    end(run, True, False)
    gap_results_take()
    gap = gap_of()
    assert (gap.asked_again, gap.answered) == (2, 1)
    assert {row.answered for row in GapQuestion.objects.filter(text=PARKING)} == {True}
    assert GapRun.objects.get().taken


def test_a_wording_that_people_ask_in_vain_again_counts_as_answered_no_longer(curator: User) -> None:
    unanswered(ago_days=1)
    gaps_refresh()
    end(gap_ask_again(access=desk_access(curator), gap=gap_of()), True)
    unanswered(ago_days=2)
    gaps_refresh()
    gaps_refresh()
    assert (gap_of().answered, {row.answered for row in GapQuestion.objects.all()}) == (1, {True}), "asked before that"
    unanswered()
    gaps_refresh()
    assert (gap_of().questions, gap_of().answered, gap_of().asked_again) == (3, 0, 0)


def test_what_could_not_be_asked_is_not_unanswered(curator: User) -> None:
    unanswered()
    gaps_refresh()
    gap = gap_mark(access=desk_access(curator), gap=gap_of(), changes={"state": "closed"})
    run = gap_ask_again(access=desk_access(curator), gap=gap)
    end(run, False, status="failed")
    gap_results_take()
    gap.refresh_from_db()
    assert (gap.state, gap.asked_again) == ("closed", 0)


@pytest.mark.parametrize(
    ("decision", "grounding", "supported"),
    [
        ("ANSWER", [{"supported": True}, {"supported": True}, {"supported": False}], True),
        ("ANSWER", [{"supported": False}], False),
        ("ANSWER", [], True),
        ("NO_ANSWER", [{"supported": True}], False),
        ("CLARIFY", [], False),
    ],
)
def test_only_a_supported_answer_answers(decision: str, grounding: list[Any], supported: bool) -> None:
    answer = {
        "decision": decision, "grounding": grounding, "answer": "x",
        "sources": [{"chunk_id": "c", "cited": True, "document_id": "d"}],
    }  # fmt: skip
    assert summary_of({"decision": "NO_ANSWER"}, answer)["supported"] == [False, supported]


def test_a_closed_gap_is_reopened_when_its_questions_are_not_answered(curator: User) -> None:
    unanswered()
    gaps_refresh()
    access = desk_access(curator)
    gap = gap_mark(access=access, gap=gap_of(), changes={"state": "closed"})
    end(gap_ask_again(access=access, gap=gap), False)
    gap_results_take()
    gap.refresh_from_db()
    assert (gap.state, gap.reopened) == ("open", "failed")
    assert "open again" in client_of(curator).get(reverse("review_gap", args=[gap.pk])).content.decode()
    assert gap.events.first().kind == "reopened" and gap.events.first().by_name == ""  # type: ignore[union-attr]


def test_a_closed_gap_is_reopened_when_people_ask_in_vain_again_and_one_set_aside_is_not(curator: User) -> None:
    unanswered(PARKING, ago_days=1)
    unanswered(GYM, ago_days=1)
    gaps_refresh()
    gap_mark(access=desk_access(curator), gap=gap_of(PARKING), changes={"state": "closed"})
    gap_mark(access=desk_access(curator), gap=gap_of(GYM), changes={"state": "set_aside"})
    gaps_refresh()
    assert gap_of(PARKING).state == "closed"
    unanswered(PARKING)
    unanswered(GYM)
    gaps_refresh()
    assert (gap_of(PARKING).state, gap_of(PARKING).reopened) == ("open", "asked")
    assert gap_of(GYM).state == "set_aside"


def test_a_document_closes_a_gap_and_has_its_questions_asked_when_it_is_ready(curator: User) -> None:
    unanswered()
    gaps_refresh()
    document = DocumentFactory(status=Document.Status.QUEUED)
    gap_document_add(access=desk_access(curator), gap=gap_of(), document=document, close=True)
    assert (gap_of().state, GapRun.objects.count()) == ("closed", 0)
    gap_document_ready(document.pk)
    gap_document_ready(document.pk)
    run = GapRun.objects.get()
    assert run.batch.made_by == curator
    end(run, True)
    gap_results_take()
    assert (gap_of().state, gap_of().answered) == ("closed", 1)


def test_who_lost_the_role_asks_nothing_any_more(curator: User) -> None:
    unanswered()
    gaps_refresh()
    document = DocumentFactory(status=Document.Status.QUEUED)
    gap_document_add(access=desk_access(curator), gap=gap_of(), document=document, close=True)
    curator.groups.clear()
    gap_document_ready(document.pk)
    assert not GapRun.objects.exists()


# ------------------------------------------------------------------------------------------------ pages
def test_a_curator_uploads_a_document_that_closes_the_gap(curator: User) -> None:
    unanswered()
    gaps_refresh()
    gap, collection = gap_of(), CollectionFactory(owner=curator, name="parking")
    file = SimpleUploadedFile("permits.md", b"# Parking permits\n\nA permit costs 20 pounds a term.")
    address = reverse("review_gap_document", args=[gap.pk])
    body = {"file": file, "collection": str(collection.pk), "close": "on"}
    assert client_of(curator).post(address, body).status_code == 302
    gap.refresh_from_db()
    assert (gap.state, gap.documents.get().document.title) == ("closed", "permits")
    page = client_of(curator).get(reverse("review_gap", args=[gap.pk])).content.decode()
    assert "being read" in page and "permits" in page


def test_a_document_goes_into_no_collection_that_a_curator_may_not_write(curator: User) -> None:
    unanswered()
    gaps_refresh()
    gap, drawer = gap_of(), CollectionFactory(owner=UserFactory(), visibility="private")
    secret = DocumentFactory(collection=drawer, title="Secret")
    address = reverse("review_gap_document", args=[gap.pk])
    for body in (
        {"file": SimpleUploadedFile("a.md", b"a"), "collection": str(drawer.pk)},
        {"file": SimpleUploadedFile("a.md", b"a"), "collection": "x"},
        {"collection": str(drawer.pk)},
        {"existing": str(secret.pk)},
        {"existing": "nonsense"},
    ):
        assert client_of(curator).post(address, body).status_code == 302
    assert not gap.documents.exists()
    assert (
        "Secret"
        not in client_of(curator).get(reverse("review_gap", args=[gap.pk]) + "?document=Secre").content.decode()
    )


def test_pages_follow_each_other_without_gaps_or_doubles(curator: User) -> None:
    for number in range(7):
        KnowledgeGap.objects.create(questions=number // 2, leader=str(number))
    access = desk_access(curator)
    for sort in ("largest", "newest"):
        seen: list[int] = []
        after = ""
        while True:
            page = gaps_page(gaps_shown(access, GapFilters(sort=sort)), sort=sort, size=3, after=after)  # type: ignore[arg-type]
            seen += [gap.pk for gap in page.rows]
            if not (after := page.after):
                break
        assert len(seen) == len(set(seen)) == 7


def test_wordings_and_the_times_each_was_asked_are_paged(curator: User) -> None:
    for text in (PARKING, PARKING, PARKING, COSTS):
        unanswered(text)
    gaps_refresh()
    gap = gap_of()
    first = wordings_page(gap, size=1)
    second = wordings_page(gap, size=1, after=first.after)
    assert sorted(row["asked"] for row in (*first.rows, *second.rows)) == [1, 3] and not second.after
    asked = questions_page(gap, key=gap_of(PARKING).rows.filter(text=PARKING).first().key, size=2)  # type: ignore[union-attr]
    assert len(asked.rows) == 2 and asked.after
    page = client_of(curator).get(reverse("review_gap", args=[gap.pk]) + f"?wording={asked.rows[0].key}")
    assert page.content.decode().count(PARKING) >= 3


def test_wordings_that_are_not_answered_stand_first(curator: User) -> None:
    gap = KnowledgeGap.objects.create()
    for text, answered in (("new", True), ("never asked again", None), ("not answered", False), ("older", True)):
        message = unanswered(text)
        GapQuestion.objects.create(gap=gap, message=message, key=text, text=text, at=timezone.now(), answered=answered)
    pages, after = [], ""
    while not pages or after:
        page = wordings_page(gap, size=1, after=after)
        pages, after = pages + [row["key"] for row in page.rows], page.after
    assert pages == ["not answered", "never asked again", "older", "new"]


def test_the_list_filters_by_state_person_collection_and_words(curator: User) -> None:
    unanswered(PARKING)
    unanswered(GYM)
    gaps_refresh()
    gap_mark(access=desk_access(curator), gap=gap_of(GYM), changes={"state": "closed"})
    gap_mark(access=desk_access(curator), gap=gap_of(PARKING), changes={"assignee": "mei", "due": None})
    client = client_of(curator)

    def shown(query: str) -> tuple[bool, bool]:
        page = client.get(f"{reverse('review_gaps')}?{query}").content.decode()
        return PARKING in page, GYM in page

    assert shown("") == (True, False)
    assert shown("state=closed") == (False, True)
    assert shown("state=all") == (True, True)
    assert shown("state=all&assignee=mei") == (True, False)
    assert shown("state=all&assignee=nobody") == (False, True)
    assert shown("state=all&search=gym") == (False, True)
    assert client.get(f"{reverse('review_gaps')}?collection=nonsense").status_code == 400
    assert client.get(f"{reverse('review_gaps')}?after=nonsense").status_code == 400
    assert client.get(f"{reverse('review_gaps')}?after=9999999999.{'9' * 18}.1").status_code in (200, 400)


def test_the_list_is_searched_in_both_chinese_scripts(curator: User) -> None:
    unanswered("研討室幾點開門？")
    gaps_refresh()
    for words in ("研討室", "研讨室"):
        assert "研討室幾點開門" in client_of(curator).get(reverse("review_gaps"), {"search": words}).content.decode()


def test_what_is_done_is_kept_with_who_did_it(curator: User) -> None:
    unanswered()
    gaps_refresh()
    gap = gap_of()
    client, address = client_of(curator), reverse("review_gap_change", args=[gap.pk])
    client.post(address, {"assignee": "mei", "note": "Ask them.", "due": "2026-12-24"})
    client.post(address, {"state": "set_aside"})
    gap.refresh_from_db()
    assert (gap.state, gap.assignee, gap.note, str(gap.due)) == ("set_aside", curator, "Ask them.", "2026-12-24")
    done = [(event.kind, event.by_name) for event in gap.events.order_by("pk")]
    kinds = ["assignee", "state", "note", "due", "state"]
    assert done == [("found", ""), *((kind, "mei") for kind in kinds)]
    client.post(address, {"due": "tomorrow"})
    assert gap.events.count() == len(done)


def test_wrong_changes_are_refused(curator: User) -> None:
    unanswered()
    gaps_refresh()
    for changes in ({"state": "gone"}, {"assignee": "nobody at all"}, {"note": "x" * 4001}):
        with pytest.raises(InvalidInputError):
            gap_mark(access=desk_access(curator), gap=gap_of(), changes=changes)
    with pytest.raises(PermissionDeniedError):
        gap_mark(access=desk_access(person("Reviewers")), gap=gap_of(), changes={"state": "closed"})


# ------------------------------------------------------------------------------------------------ roles
READ = ("review_gaps", "review_gap", "api-review-gap", "api-review-gaps")
WORK = ("review_gap_change", "review_gap_document", "review_gap_ask")


@pytest.mark.parametrize("who", ["", "user", *ROLES, "anonymous"])
def test_roles_read_and_curators_work(who: str) -> None:
    drawer = CollectionFactory(owner=UserFactory(username="zebedee"), name="drawer", visibility="private")
    asked_of = {"collection_ids": [str(drawer.pk)], "collections": ["drawer"]}
    unanswered(user=drawer.owner, request=asked_of)
    gaps_refresh()
    gap = gap_of()
    assert gap.collection == drawer
    user: Any = None if who == "anonymous" else UserFactory() if who == "user" else person(who)
    client = client_of(user)
    works = who in ("Curators", "Administrators")
    for name in (*READ, *WORK):
        takes = name not in ("review_gaps", "api-review-gaps")
        address = reverse(name, args=[gap.pk] if takes else [])
        response = client.post(address, {}) if name in WORK else client.get(address)
        text = response.content.decode()
        if who == "anonymous":
            assert response.status_code == (401 if name.startswith("api") else 302)
        elif who not in ROLES:
            assert response.status_code == (404 if who == "user" else 403), name
            assert PARKING not in text
        elif name in READ:
            assert response.status_code == 200 and PARKING in text, name
            assert ("zebedee" in text) is (who == "Administrators" and name != "review_gap_change"), name
        else:
            assert response.status_code == (302 if works else 403), name
    api = reverse("api-review-gap", args=[gap.pk])
    status = client.patch(api, {"state": "in_work"}, content_type="application/json").status_code
    assert status == (200 if works else 403 if who in ("", "Reviewers") else 404 if who == "user" else 401)
    if who == "Reviewers":
        page = client.get(reverse("review_gap", args=[gap.pk])).content.decode()
        assert "Upload" not in page and reverse("review_gap_ask", args=[gap.pk]) not in page


def test_the_api_changes_asks_and_names_what_is_wrong(curator: User) -> None:
    unanswered()
    gaps_refresh()
    client, one = client_of(curator), reverse("api-review-gap", args=[gap_of().pk])
    told = client.patch(one, {"assignee": "mei", "due": "2026-12-24"}, content_type="application/json").json()
    assert (told["assignee"], told["state"], told["due"], told["busy"]) == ("mei", "in_work", "2026-12-24", False)
    asked = client.post(reverse("api-review-gap-ask", args=[gap_of().pk]))
    assert (asked.status_code, client.get(one).json()["busy"]) == (202, True)
    for wrong in ({"state": "x"}, {"assignee": "nobody at all"}, {"due": "soon"}, {"other": 1}):
        response = client.patch(one, wrong, content_type="application/json")
        assert (response.status_code, set(response.json()["error"]["fields"])) == (400, set(wrong))
    assert client.get(reverse("api-review-gap", args=[10**18])).status_code == 404


def test_the_dashboard_lists_gaps_with_their_way_and_what_is_answered(curator: User) -> None:
    unanswered()
    gaps_refresh()
    end(gap_ask_again(access=desk_access(curator), gap=gap_of()), True)
    (row,) = client_of(curator).get(reverse("api-review-gaps")).json()
    assert (row["question"], row["url"]) == (PARKING, reverse("review_gap", args=[gap_of().pk]))
    assert (row["answered"], row["wordings"], row["count"]) == (1, 1, 1)


# ------------------------------------------------------------------------------------------------ a person's data
def test_what_a_person_did_with_gaps_is_told_and_loses_the_name(curator: User) -> None:
    other = person("Administrators", username="boss")
    unanswered(user=curator)
    gaps_refresh()
    gap_mark(access=desk_access(other), gap=gap_of(), changes={"assignee": "mei"})
    gap_mark(access=desk_access(curator), gap=gap_of(), changes={"note": "Mine."})
    holder = FeedbackHolder()
    parts: Any = {part.path: list(part.content) for part in holder.parts(curator)}
    assert [row["kind"] for row in parts["knowledge-gaps.json"]] == ["note"]
    assert [row["text"] for row in parts["unanswered-questions.json"]] == [PARKING]
    list(holder.erase(curator))
    events = GapEvent.objects.exclude(kind="found")
    assert "mei" not in str(list(events.values_list("by_name", "detail")))
    assert {event.by_name for event in events} == {"boss", "–"}


# ------------------------------------------------------------------------------------------------ letters
@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> Any:
    """What is sent while a function runs."""
    sent: list[Letter] = []
    monkeypatch.setattr(gap_letters_module, "letter_queue", sent.append)

    def during(act: Any) -> list[Letter]:
        sent.clear()
        with django_capture_on_commit_callbacks(execute=True):
            act()
        return list(sent)

    return during


def with_address(user: User, email: str) -> User:
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    Account.objects.update_or_create(user=user, defaults={"language": "zh-hant"})
    return user


def test_whom_a_gap_is_given_gets_a_letter_in_their_language(curator: User, letters: Any) -> None:
    unanswered()
    gaps_refresh()
    lin = with_address(person("Curators", username="lin"), "lin@example.org")
    (letter,) = letters(lambda: gap_mark(access=desk_access(curator), gap=gap_of(), changes={"assignee": "lin"}))
    assert letter.to == "lin@example.org" and re.search(r"[\u4e00-\u9fff]", letter.subject)
    assert "mei" in letter.text and letter.text.endswith(reverse("review_gap", args=[gap_of().pk]))
    assert PARKING not in letter.subject + letter.text
    lin.groups.clear()
    assert gap_letter(gap_id=gap_of().pk, user_id=lin.pk) is None


def test_nobody_gets_a_letter_for_what_they_did_themselves(curator: User, letters: Any) -> None:
    unanswered()
    gaps_refresh()
    with_address(curator, "mei@example.org")
    access = desk_access(curator)
    for changes in ({"assignee": "mei"}, {"state": "closed"}, {"state": "open"}, {"note": "Seen."}, {"assignee": ""}):
        assert letters(lambda changes=changes: gap_mark(access=access, gap=gap_of(), changes=changes)) == []


def test_a_gap_that_is_open_again_tells_its_assignee(curator: User, letters: Any) -> None:
    unanswered(ago_days=2)
    gaps_refresh()
    with_address(curator, "mei@example.org")
    gap_mark(access=desk_access(curator), gap=gap_of(), changes={"assignee": "mei", "state": "closed"})
    KnowledgeGap.objects.update(state_at=timezone.now() - timedelta(days=1))
    unanswered()
    (letter,) = letters(gaps_refresh)
    assert letter.to == "mei@example.org"
    other = desk_access(person("Curators", username="lin"))
    letters(lambda: gap_mark(access=other, gap=gap_of(), changes={"state": "closed"}))
    assert gap_letter(gap_id=gap_of().pk, user_id=curator.pk) is None  # done by now
    (letter,) = letters(lambda: gap_mark(access=other, gap=gap_of(), changes={"state": "in_work"}))
    assert "lin" in letter.text


def test_without_a_confirmed_address_there_is_no_letter(curator: User, letters: Any) -> None:
    unanswered()
    gaps_refresh()
    User.objects.filter(pk=person("Curators", username="lin").pk).update(email="lin@example.org")
    assert letters(lambda: gap_mark(access=desk_access(curator), gap=gap_of(), changes={"assignee": "lin"})) == []


# ------------------------------------------------------------------------------------------------ merged by hand
@pytest.fixture
def two() -> tuple[KnowledgeGap, KnowledgeGap]:
    """PARKING's gap, with two questions, and GYM's with one."""
    for text in (PARKING, PARKING, GYM):
        unanswered(text)
    gaps_refresh()
    return gap_of(PARKING), gap_of(GYM)


def test_merged_gaps_are_one_to_do_also_for_what_is_asked_later(curator: User, two: Any) -> None:
    parking, gym = two
    gap_merge(access=desk_access(curator), gap=gym, into=parking)
    unanswered(GYM)
    gaps_refresh()
    parking.refresh_from_db()
    assert (parking.questions, parking.wordings, gap_of(GYM)) == (4, 2, parking)
    shown = gaps_shown(desk_access(curator), GapFilters(state=""))
    assert [gap.pk for gap in shown] == [parking.pk]
    page = client_of(curator).get(reverse("review_gap", args=[gym.pk])).text
    assert f"Merged into gap {parking.pk}" in page and "Split again" in page


def test_documents_of_a_merged_gap_stand_on_the_page_of_the_other(curator: User, two: Any) -> None:
    parking, gym = two
    drawer = CollectionFactory(owner=curator)
    shown, secret = DocumentFactory(collection=drawer, title="Gym hours"), DocumentFactory(title="Nobody's business")
    for document in (shown, secret):
        gym.documents.create(document_id=document.pk, added_by=curator)
    gap_merge(access=desk_access(curator), gap=gym, into=parking)
    client = client_of(curator)
    page = client.get(reverse("review_gap", args=[parking.pk])).text
    assert "Gym hours" in page and f"for gap {gym.pk}" in page and "Nobody's business" not in page
    gap_split(access=desk_access(curator), gap=gym)
    assert "Gym hours" not in client.get(reverse("review_gap", args=[parking.pk])).text


def test_split_again_each_has_its_own_with_what_came_since(curator: User, two: Any) -> None:
    parking, gym = two
    access = desk_access(curator)
    gap_mark(access=access, gap=gym, changes={"note": "Ask the sports office."})
    gap_merge(access=access, gap=gym, into=parking)
    unanswered(GYM)
    gaps_refresh()
    gap_split(access=access, gap=gym)
    parking.refresh_from_db()
    gym.refresh_from_db()
    assert (parking.questions, gym.questions, gym.note, gym.merged_into) == (2, 2, "Ask the sports office.", None)
    assert gap_of(GYM) == gym
    kinds = list(GapEvent.objects.filter(gap=gym).order_by("pk").values_list("kind", flat=True))
    assert kinds[-2:] == ["merged", "split"]


def test_gaps_merged_one_after_the_other_come_apart_each_by_itself(curator: User, two: Any) -> None:
    parking, gym = two
    unanswered("Who repairs a broken projector?")
    gaps_refresh()
    projector = gap_of("Who repairs a broken projector?")
    access = desk_access(curator)
    gap_merge(access=access, gap=gym, into=parking)
    gap_merge(access=access, gap=KnowledgeGap.objects.get(pk=parking.pk), into=projector)
    assert {row.gap_id for row in GapQuestion.objects.all()} == {projector.pk}
    gap_split(access=access, gap=gym)
    gap_split(access=access, gap=parking)
    assert (gap_of(GYM), gap_of(PARKING)) == (gym, parking)


def test_wrong_merges_are_refused_by_page_and_api(curator: User, two: Any) -> None:
    parking, gym = two
    client = client_of(curator)
    api = f"/api/review/gaps/{gym.pk}"
    for into in (gym.pk, 999999):
        assert client.post(f"{api}/merge", {"into": into}, content_type="application/json").status_code == 400
    assert client.post(f"{api}/split").status_code == 409
    assert client.post(f"{api}/merge", {"into": parking.pk}, content_type="application/json").json()["wordings"] == 2
    assert client.patch(api, {"note": "x"}, content_type="application/json").status_code == 409
    assert client.post(f"{api}/merge", {"into": parking.pk}, content_type="application/json").status_code == 409
    assert client_of(person("Reviewers")).post(f"{api}/split").status_code == 403
    assert client.post(f"{api}/split").json()["merged_into"] is None


def test_results_of_a_replay_reach_the_gap_that_it_was_merged_into(curator: User, two: Any) -> None:
    parking, gym = two
    access = desk_access(curator)
    run = gap_ask_again(access=access, gap=gym)
    gap_merge(access=access, gap=gym, into=parking)
    end(run, True)
    gap_results_take()
    parking.refresh_from_db()
    assert (parking.asked_again, parking.answered) == (1, 1)
