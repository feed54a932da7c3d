"""`/api/feedback/…`: what staff see and decide; closed to everybody else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from feedback.models import Burst, Evidence, ManualBoost, Revision
from feedback.rounds.live import feedback_state
from feedback.rounds.round import feedback_round
from feedback.tasks import reindex_feedback
from feedback.urls import staff as staff_urls
from tests.factories import CollectionFactory, MessageFactory, RatingFactory, SessionFactory, UserFactory
from tests.feedback.rated import answered, liked, passage, rate, regular
from tests.feedback.staff import QUESTION, client_of, held_revision, live_revision, logged
from tests.review.people import ROLES, person

pytestmark = pytest.mark.django_db
WHY = {"why": "A reason."}


@pytest.fixture(autouse=True)
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


@pytest.fixture
def staff() -> User:
    return person("Administrators")


@pytest.fixture
def client(staff: User) -> APIClient:
    return client_of(staff)


def error_of(response: Any) -> dict[str, Any]:
    told: dict[str, Any] = response.json()["error"]
    assert set(told) == {"code", "message", "fields"}
    return told


# ------------------------------------------------------------------------------------------------ who may
@pytest.mark.parametrize("name", [one.name for one in staff_urls])
def test_users_find_nothing_staff_is_told_of_roles_and_strangers_sign_in(name: str) -> None:
    which = {"revision_id", "boost_id", "question_id", "burst_id"}
    pattern = next(one for one in staff_urls if one.name == name).pattern
    url = reverse(name, kwargs={key: uuid4() for key in which.intersection(pattern.converters)})
    for user, status, code in (
        (UserFactory(), 404, "not_found"),
        (person(), 403, "role_missing"),
        (None, 401, "not_authenticated"),
    ):
        for method in ("get", "post", "patch", "delete"):
            response = getattr(client_of(user), method)(url, {})
            assert response.status_code == status
            assert error_of(response)["code"] == code


READ_BY_ADMINISTRATORS = {"feedback-events"}
CHANGED_BY_CURATORS = {
    "feedback-golden-questions", "feedback-golden-question", "feedback-golden-sets", "feedback-golden-import",
    "feedback-manual-boosts", "feedback-manual-boost",
}  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_roles_read_curators_change_questions_and_boosts_and_administrators_decide(role: str) -> None:
    caller = client_of(person(role))
    for pattern in staff_urls:
        which = {"revision_id", "boost_id", "question_id", "burst_id"}
        name = str(pattern.name)
        url = reverse(name, kwargs={key: uuid4() for key in which.intersection(pattern.pattern.converters)})
        reads = role == "Administrators" or name not in READ_BY_ADMINISTRATORS
        assert (caller.get(url).status_code == 403) is not reads, name
        changes = role == "Administrators" or (role == "Curators" and name in CHANGED_BY_CURATORS)
        for method in ("post", "patch", "delete"):
            response = getattr(caller, method)(url, {})
            assert response.status_code != 403 or not changes, name
            assert response.status_code in (400, 404, 405, 409, 200) if changes else response.status_code in (403, 405)


def test_a_gap_names_no_collection_that_its_reader_may_not_know() -> None:
    drawer = CollectionFactory(name="drawer", owner=UserFactory(username="zebedee"), visibility="private")
    session = SessionFactory(user=drawer.owner)
    asked = MessageFactory(question=True, session=session, text="Where is the key?")
    request = {"collection_ids": [str(drawer.pk)], "collections": ["drawer"]}
    MessageFactory(session=session, reply_to=asked, decision="NO_ANSWER", request=request)
    hidden, shown = (client_of(person(role)) for role in ("Reviewers", "Administrators"))
    assert "zebedee" not in hidden.get("/api/feedback/gaps").content.decode()
    assert "zebedee" not in hidden.get("/api/feedback/gaps/export").content.decode()
    assert hidden.get("/api/feedback/gaps?collection=zebedee/drawer").json()["count"] == 0
    assert shown.get("/api/feedback/gaps?collection=zebedee/drawer").json()["count"] == 1


# ------------------------------------------------------------------------------------------------ revisions
def test_the_list_is_paged_and_filtered_by_status(client: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    live, _ = live_revision()
    held = held_revision(monkeypatch)
    listed = client.get("/api/feedback/revisions").json()
    assert [row["number"] for row in listed["results"]] == [held.number, live.number]
    assert set(listed) == {"count", "next", "previous", "results"}
    assert client.get("/api/feedback/revisions?status=held").json()["count"] == 1
    assert "status" in error_of(client.get("/api/feedback/revisions?status=nonsense"))["fields"]


def test_a_revision_tells_what_was_measured_and_why_it_is_held(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, _ = live_revision()
    held = held_revision(monkeypatch)
    told = client.get(f"/api/feedback/revisions/{held.pk}").json()
    assert (told["status"], told["parent"]) == ("held", live.number)
    assert "drops by" in told["reason"]
    assert told["guard"]["worse"] == [{"question": "When does the library open?", "before": 1.0, "after": 0.43}]
    assert told["summary"]["added"] == 1


def test_its_boosts_are_told_before_and_after(client: APIClient) -> None:
    revision, chunk = live_revision()
    (boost,) = client.get(f"/api/feedback/revisions/{revision.pk}/boosts").json()["results"]
    assert (boost["kind"], boost["change"], boost["before"], boost["raters_up"]) == ("query", "added", 1.0, 2)
    assert (boost["chunk_id"], boost["question"]) == (str(chunk.pk), QUESTION)
    assert boost["after"] > 1.0


def test_release_makes_a_held_revision_live_and_is_logged(
    client: APIClient, staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_revision(monkeypatch)
    response = client.post(f"/api/feedback/revisions/{held.pk}/release", {"why": "The golden question is outdated."})
    assert (response.status_code, response.json()["status"]) == (200, "live")
    assert feedback_state().live == held
    assert logged()[-1] == ("released", staff, "The golden question is outdated.")


def test_hold_keeps_a_proposed_revision_back(
    client: APIClient, staff: User, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rag_settings(feedback={"auto_live": False})
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)
    revision, _ = live_revision()
    assert revision.status == "proposed"
    response = client.post(f"/api/feedback/revisions/{revision.pk}/hold", WHY)
    assert (response.status_code, response.json()["status"]) == (200, "held")
    assert logged()[-1] == ("held", staff, "A reason.")


def test_roll_back_takes_the_live_revision_back_and_freezes(client: APIClient, staff: User) -> None:
    revision, _ = live_revision()
    response = client.post(f"/api/feedback/revisions/{revision.pk}/rollback", {"why": "It lifts the wrong page."})
    assert response.status_code == 200
    assert (response.json()["live"], response.json()["frozen"]) == (None, True)
    assert ("rolled_back", staff, "It lifts the wrong page.") in logged()


def test_roll_back_goes_to_a_named_revision_without_freezing(client: APIClient) -> None:
    first, chunk = live_revision()
    for number in range(2):
        liked(f"How many books now, {number}?", chunk, by=2)
        feedback_round()
    live = feedback_state().live
    body = {"why": "Back to the first.", "to": str(first.pk), "freeze": False}
    told = client.post(f"/api/feedback/revisions/{live.pk}/rollback", body).json()
    assert (told["live"], told["live_number"], told["frozen"]) == (str(first.pk), first.number, False)


def test_only_the_live_revision_can_be_rolled_back(client: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    live, _ = live_revision()
    held = held_revision(monkeypatch)
    response = client.post(f"/api/feedback/revisions/{held.pk}/rollback", WHY)
    assert (response.status_code, error_of(response)["code"]) == (409, "conflict")
    assert feedback_state().live == live


@pytest.mark.parametrize("action", ["release", "hold", "rollback"])
@pytest.mark.parametrize("body", [{}, {"why": ""}, {"why": "  "}, {"why": "x" * 501}, {"why": ["a"]}, [1]])
def test_a_decision_without_a_reason_is_refused(client: APIClient, action: str, body: Any) -> None:
    revision, _ = live_revision()
    before = logged()
    response = client.post(f"/api/feedback/revisions/{revision.pk}/{action}", body)
    assert response.status_code == 400
    assert error_of(response)["fields"]
    assert logged() == before


@pytest.mark.parametrize("action", ["release", "hold"])
def test_a_live_revision_cannot_be_released_or_held(client: APIClient, action: str) -> None:
    revision, _ = live_revision()
    assert client.post(f"/api/feedback/revisions/{revision.pk}/{action}", WHY).status_code == 409


@pytest.mark.parametrize("path", ["", "/boosts", "/release", "/hold", "/rollback"])
def test_an_unknown_revision_is_404(client: APIClient, path: str) -> None:
    send = client.get if path in ("", "/boosts") else client.post
    assert send(f"/api/feedback/revisions/{uuid4()}{path}", WHY).status_code == 404


def test_freeze_stops_rounds_until_it_is_lifted(client: APIClient, staff: User) -> None:
    assert client.post("/api/feedback/freeze", WHY).json()["frozen"] is True
    liked(QUESTION, passage("Ten books."), by=2)
    assert feedback_round().status == "frozen"
    assert client.post("/api/feedback/freeze", {"frozen": False, **WHY}).json()["frozen"] is False
    assert feedback_round().status == "live"
    assert [entry[:2] for entry in logged()[:2]] == [("frozen", staff), ("unfrozen", staff)]


def test_the_state_tells_what_is_live_and_what_the_last_round_did(client: APIClient) -> None:
    assert client.get("/api/feedback/state").json()["live"] is None
    revision, _ = live_revision()
    told = client.get("/api/feedback/state").json()
    assert (told["live"], told["live_number"], told["frozen"]) == (str(revision.pk), 1, False)
    assert told["last_round"]["status"] == "live"


def test_a_reset_by_document_discards_its_votes(client: APIClient, staff: User) -> None:
    _, chunk = live_revision()
    told = client.post("/api/feedback/reset", {"document": str(chunk.document_id), **WHY}).json()
    assert (told["status"], told["counts"]["removed"]) == ("live", 1)
    assert not Evidence.objects.filter(discarded_by=None).exists()
    assert ("reset_document", staff, "A reason.") in logged()


def test_a_reset_leaves_its_round_to_a_worker(
    client: APIClient, staff: User, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    _, chunk = live_revision()
    told = client.post("/api/feedback/reset", {"document": str(chunk.document_id), **WHY}).json()
    assert (told["status"], told["by"]) == ("queued", staff.username)
    assert client.get("/api/feedback/state").json()["last_round"] == told
    assert not Evidence.objects.filter(discarded_by=None).exists()
    [(task, arguments)] = sent
    assert (task, reindex_feedback(**arguments)) == ("feedback.tasks.reindex_feedback", "live")
    after = client.get("/api/feedback/state").json()["last_round"]
    assert (after["status"], after["counts"]["removed"], after["by"]) == ("live", 1, staff.username)


def test_where_the_queue_is_away_a_reset_runs_its_round_and_says_so(client: APIClient) -> None:
    _, chunk = live_revision()
    told = client.post("/api/feedback/reset", {"document": str(chunk.document_id), **WHY}).json()
    assert (told["status"], told["notes"]) == ("live", ["the task queue was away, so the round was run at once"])


def test_a_reset_by_rater_discards_theirs_alone(client: APIClient) -> None:
    troll, chunk = regular(username="troll"), passage("Ten books.")
    rate(answered(QUESTION, [chunk], user=troll), 1, "wrong_source")
    liked(QUESTION, chunk)
    assert client.post("/api/feedback/reset", {"rater": "troll", **WHY}).status_code == 200
    assert [row.voter == troll for row in Evidence.objects.exclude(discarded_by=None)] == [True]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (WHY, 400),
        ({"document": str(uuid4()), "rater": "x", **WHY}, 400),
        ({"document": "abc", **WHY}, 400),
        ({"document": str(uuid4()), **WHY}, 404),
        ({"rater": "nobody", **WHY}, 404),
    ],
)
def test_a_reset_of_nothing_or_of_what_is_not_there_is_refused(client: APIClient, body: Any, status: int) -> None:
    assert client.post("/api/feedback/reset", body).status_code == status


def test_the_log_is_filtered_by_revision_document_and_action(client: APIClient) -> None:
    revision, chunk = live_revision()
    client.post("/api/feedback/freeze", WHY)
    assert [row["action"] for row in client.get("/api/feedback/events").json()["results"]] == [
        "frozen", "went_live", "proposed",
    ]  # fmt: skip
    assert client.get(f"/api/feedback/events?revision={revision.pk}").json()["count"] == 2
    assert client.get(f"/api/feedback/events?document={chunk.document_id}").json()["count"] == 0
    assert client.get("/api/feedback/events?action=frozen").json()["count"] == 1
    assert client.get("/api/feedback/events?action=x").status_code == 400


# ------------------------------------------------------------------------------------------------ evidence
def test_evidence_tells_boosts_votes_and_weights(client: APIClient) -> None:
    _, chunk = live_revision()
    told = client.get(f"/api/feedback/evidence?document={chunk.document_id}").json()
    assert told["document"]["id"] == str(chunk.document_id)
    (boost,) = told["boosts"]
    assert (boost["kind"], boost["question"], boost["chunk_id"]) == ("query", QUESTION, str(chunk.pk))
    assert told["votes"]["count"] == 2
    vote = told["votes"]["results"][0]
    assert (vote["score"], vote["tags"], vote["question"], vote["left_out"]) == (5, ["accurate"], QUESTION, "")
    assert (vote["weight"], vote["voter_why"]) == (1.0, "")
    assert vote["voter_weight"] == vote["counts_now"] == pytest.approx(1.0, abs=0.1)


def test_who_voted_is_told_to_those_alone_who_see_names() -> None:
    nameless = person()
    nameless.user_permissions.set(Permission.objects.filter(codename__in=["read_answers", "administer_desk"]))
    client, (_, chunk) = client_of(nameless), live_revision()
    voter = Evidence.objects.all()[0].voter.username
    assert client.post("/api/feedback/reset", {"rater": voter, **WHY}).status_code < 300
    evidence, log = f"/api/feedback/evidence?document={chunk.document_id}", "/api/feedback/events?action=reset_rater"
    assert {vote["user"] for vote in client.get(evidence).json()["votes"]["results"]} == {None}
    assert [row["rater"] for row in client.get(log).json()["results"]] == [None]
    administrator = client_of(person("Administrators"))
    assert voter in {vote["user"] for vote in administrator.get(evidence).json()["votes"]["results"]}
    assert [row["rater"] for row in administrator.get(log).json()["results"]] == [voter]


def test_evidence_is_narrowed_to_a_chunk(client: APIClient) -> None:
    _, chunk = live_revision()
    url = f"/api/feedback/evidence?document={chunk.document_id}"
    assert client.get(f"{url}&chunk={chunk.pk}").json()["votes"]["count"] == 2
    other = client.get(f"{url}&chunk={uuid4()}").json()
    assert (other["votes"]["count"], other["boosts"]) == (0, [])


def test_a_vote_that_does_not_count_says_why(client: APIClient) -> None:
    _, chunk = live_revision()
    client.post("/api/feedback/reset", {"document": str(chunk.document_id), "why": "A prank."})
    votes = client.get(f"/api/feedback/evidence?document={chunk.document_id}").json()["votes"]["results"]
    assert {vote["counts_now"] for vote in votes} == {0.0}
    assert all(vote["left_out"].endswith("A prank.") for vote in votes)


@pytest.mark.parametrize(
    ("query", "status"), [("", 400), ("?document=abc", 400), (f"?document={UUID(int=1)}", 404)]
)  # fmt: skip
def test_evidence_needs_a_document_that_is_there(client: APIClient, query: str, status: int) -> None:
    assert client.get(f"/api/feedback/evidence{query}").status_code == status


# ------------------------------------------------------------------------------------------------ boosts by hand
def test_a_boost_by_hand_is_made_changed_and_ended(client: APIClient, staff: User) -> None:
    chunk = passage("Ten books.")
    body = {"document": str(chunk.document_id), "multiplier": 1.5, "why": "The one in force."}
    made = client.post("/api/feedback/manual-boosts", body)
    assert made.status_code == 201
    url = f"/api/feedback/manual-boosts/{made.json()['id']}"
    until = timezone.now() + timedelta(days=3)
    changed = client.patch(url, {"multiplier": 1.2, "expires_at": until.isoformat(), "why": "Less."}).json()
    assert changed["id"] != made.json()["id"]
    assert client.get(url).json()["ended_by"] == staff.username
    assert [row["multiplier"] for row in client.get("/api/feedback/manual-boosts").json()["results"]] == [1.2]
    assert client.get("/api/feedback/manual-boosts?in_force=false").json()["count"] == 2
    ended = client.delete(f"/api/feedback/manual-boosts/{changed['id']}?why=Over.")
    assert ended.json()["ended_at"]
    assert not ManualBoost.objects.filter(ended_at=None).exists()
    assert [entry[0] for entry in logged()] == ["manual_set", "manual_set", "manual_ended"]
    assert logged()[-1][2] == "Over."


def test_a_chunk_is_hidden(client: APIClient) -> None:
    chunk = passage("Five books.")
    body = {"document": str(chunk.document_id), "chunk_id": str(chunk.pk), "hide": True, "why": "Outdated."}
    assert client.post("/api/feedback/manual-boosts", body).json()["hide"] is True


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"multiplier": 0.4}, "multiplier"),
        ({"multiplier": 2.1}, "multiplier"),
        ({"multiplier": "NaN"}, "multiplier"),
        ({"multiplier": 1.0}, "multiplier"),
        ({"why": " "}, "why"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"chunk_id": str(uuid4())}, "chunk_id"),
        ({"document": "x"}, "document"),
    ],
)
def test_a_wrong_boost_by_hand_is_refused(client: APIClient, change: dict[str, Any], field: str) -> None:
    chunk = passage("Ten books.")
    body = {"document": str(chunk.document_id), "multiplier": 1.5, "why": "x", **change}
    response = client.post("/api/feedback/manual-boosts", body)
    assert response.status_code == 400, response.content
    assert field in error_of(response)["fields"]
    assert not ManualBoost.objects.exists()


def test_a_boost_by_hand_on_no_document_is_404_and_an_ended_one_409(client: APIClient) -> None:
    body = {"document": str(uuid4()), "multiplier": 1.5, **WHY}
    assert client.post("/api/feedback/manual-boosts", body).status_code == 404
    made = client.post("/api/feedback/manual-boosts", {**body, "document": str(passage("Ten.").document_id)}).json()
    url = f"/api/feedback/manual-boosts/{made['id']}"
    assert client.delete(url, {}).status_code == 400
    assert client.delete(url, WHY).status_code == 200
    assert [client.delete(url, WHY).status_code, client.patch(url, {"hide": True, **WHY}).status_code] == [409, 409]


# ------------------------------------------------------------------------------------------------ bursts
def burst() -> Burst:
    """Twenty votes of two accounts."""
    chunk, voters = passage("Ten books."), [regular(), regular()]
    for number in range(20):
        rate(answered(f"Question {number} about topic{number} and thing{number}?", [chunk], user=voters[number % 2]), 5)
    feedback_round()
    return Burst.objects.get()


@pytest.mark.parametrize(("accept", "status"), [(True, "accepted"), (False, "rejected")])
def test_a_burst_is_decided_once(client: APIClient, staff: User, accept: bool, status: str) -> None:
    found = burst()
    (listed,) = client.get("/api/feedback/bursts?status=open").json()["results"]
    assert (listed["votes"], listed["accounts"]) == (20, 2)
    url = f"/api/feedback/bursts/{found.pk}"
    told = client.post(f"{url}/decide", {"accept": accept, "why": "We asked them."}).json()
    assert (told["status"], told["decided_by"], told["why"]) == (status, staff.username, "We asked them.")
    assert client.get(url).json()["status"] == status
    assert client.post(f"{url}/decide", {"accept": True, **WHY}).status_code == 409
    assert logged()[-1] == (f"burst_{status}", staff, "We asked them.")


@pytest.mark.parametrize("body", [{"accept": True}, WHY, {"accept": "perhaps", **WHY}])
def test_a_burst_needs_a_decision_and_a_reason(client: APIClient, body: Any) -> None:
    assert client.post(f"/api/feedback/bursts/{burst().pk}/decide", body).status_code == 400
    assert Burst.objects.get().status == "open"


# ------------------------------------------------------------------------------------------------ knowledge gaps
def test_gaps_are_listed_and_exported(client: APIClient) -> None:
    session = SessionFactory()
    asked = MessageFactory(session=session, question=True, text="Where is bike parking?")
    request = {"collections": ["campus"]}
    MessageFactory(session=session, reply_to=asked, decision="NO_ANSWER", request=request)
    (gap,) = client.get("/api/feedback/gaps?collection=campus&days=7").json()["results"]
    assert (gap["question"], gap["count"], gap["no_answer"]) == ("Where is bike parking?", 1, 1)
    as_json = client.get("/api/feedback/gaps/export?format=json")
    assert as_json.json() == {"gaps": [gap]}
    assert as_json["Content-Disposition"] == 'attachment; filename="knowledge-gaps.json"'
    as_csv = client.get("/api/feedback/gaps/export?format=csv")
    assert as_csv["Content-Type"] == "text/csv; charset=utf-8"
    assert "Where is bike parking?" in as_csv.content.decode("utf-8-sig")


def test_without_gaps_the_lists_are_empty(client: APIClient) -> None:
    RatingFactory()
    assert client.get("/api/feedback/gaps").json() == {"count": 0, "next": None, "previous": None, "results": []}
    assert len(client.get("/api/feedback/gaps/export").content.decode().splitlines()) == 1


@pytest.mark.parametrize("query", ["?days=0", "?days=abc", "?days=99999999999", f"?collection={'x' * 256}"])
def test_a_wrong_filter_of_gaps_is_400(client: APIClient, query: str) -> None:
    assert client.get(f"/api/feedback/gaps{query}").status_code == 400


def test_an_unknown_export_format_is_400(client: APIClient) -> None:
    response = client.get("/api/feedback/gaps/export?format=xml")
    assert (response.status_code, list(error_of(response)["fields"])) == (400, ["format"])


def test_revisions_are_never_sent_with_their_content(client: APIClient) -> None:
    revision, _ = live_revision()
    assert Revision.objects.get().content
    assert "content" not in client.get(f"/api/feedback/revisions/{revision.pk}").json()
