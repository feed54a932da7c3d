"""The pages of administration: what needs attention, people, health, log. Who may not, does not get there."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from django.utils.translation import gettext, override
from django_celery_beat.models import PeriodicTask

from chat.models import AnswerReview, Budget, Message, UsageDay
from chat.review.records import answers_record
from feedback.models import Revision
from ragsite.accounts.tokens import token_create
from ragsite.core import storage
from ragsite.core.messages import worded
from ragsite.models import SiteProcess
from ragsite.operations import health
from retrieval.models import Document, IngestJob
from tests.clients import browser, client_of, is_in, person, sure
from tests.factories import PASSWORD, DocumentFactory, IngestJobFactory, MessageFactory, UserFactory
from tests.ollama_server import RagSettingsChanger

pytestmark = pytest.mark.django_db
PEOPLE = "/administration/people/"
BUDGETS = "/administration/budgets/"
PAGES = ("/administration/", PEOPLE, BUDGETS, "/administration/health/", "/administration/log/")
NEW_PASSWORD = "a stitch in time saves nine"


async def fine() -> str:
    return ""


def answering(reason: str) -> Any:
    async def check() -> str:
        return reason

    return check


@pytest.fixture(autouse=True)
def _all_well(monkeypatch: pytest.MonkeyPatch, rag_settings: RagSettingsChanger) -> None:
    """Every dependency answers, the schedule has just run, and there is a secret key."""
    rag_settings(ollama={"offline": "auto"})
    for name in ("_database", "_milvus", "_ollama", "_broker", "_storage", "_channel_layer"):
        monkeypatch.setattr(health, name, fine)
    PeriodicTask.objects.update(last_run_at=timezone.now())
    monkeypatch.setattr("ragsite.checks._key", lambda _processes: ())


def answer_recorded(message: Message) -> AnswerReview:
    answers_record([message.pk])
    return AnswerReview.objects.get(message=message)


def superuser() -> User:
    return UserFactory(is_superuser=True, is_staff=True)


def text_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def address_of(user: User) -> str:
    return f"{PEOPLE}{user.pk}/"


# ------------------------------------------------------------------------------------------------ who may
@pytest.mark.parametrize("path", PAGES)
def test_the_pages_are_for_administrators(path: str) -> None:
    assert client_of(person("Administrators")).get(path).status_code == 200
    assert client_of(superuser()).get(path).status_code == 200
    assert client_of(person("Curators")).get(path).status_code == 403
    assert client_of(person()).get(path).status_code == 403
    assert client_of(UserFactory()).get(path).status_code == 404
    assert client_of(None).get(path).headers["Location"].startswith("/accounts/login/")


def test_the_menu_leads_administrators_to_the_overview_and_other_staff_to_the_tables() -> None:
    assert 'href="/administration/"' in text_of(client_of(superuser()), "/accounts/")
    staff = text_of(client_of(person("Reviewers")), "/accounts/")
    assert 'href="/administration/"' not in staff and 'href="/admin/"' in staff
    assert "/admin" not in text_of(client_of(UserFactory()), "/accounts/").replace(
        "/administration", "/admin"
    )


# ------------------------------------------------------------------------------------------------ the overview
def test_where_all_is_well_the_overview_says_so() -> None:
    assert "Nothing at the moment." in text_of(client_of(superuser()), "/administration/")


def test_the_overview_tells_what_needs_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away() -> str:
        return "not reachable"

    monkeypatch.setattr(health, "_ollama", away)
    monkeypatch.setattr(storage, "free_mib", lambda: 500.0)
    DocumentFactory(status=Document.Status.FAILED)
    Revision.objects.create(number=7, status=Revision.Status.HELD)
    html = text_of(client_of(superuser()), "/administration/")
    assert "Model server: not connected" in html
    assert "Only 500 MiB are left" in html
    assert "1 document could not be read." in html and "status__exact=failed" in html
    assert 'href="/review/ratings/7/"' in html
    assert "Nothing at the moment." not in html


def test_models_that_the_operator_switched_off_are_no_matter(
    monkeypatch: pytest.MonkeyPatch, rag_settings: RagSettingsChanger
) -> None:
    async def off() -> str:
        return "switched off by RAG_OFFLINE=1"

    monkeypatch.setattr(health, "_ollama", off)
    rag_settings(ollama={"offline": "1"})
    client = client_of(superuser())
    assert "Nothing at the moment." in text_of(client, "/administration/")
    assert "Remove it to connect one." in text_of(client, "/administration/health/")


def test_an_administrator_of_the_desk_gets_no_link_to_tables_that_are_closed_to_them() -> None:
    DocumentFactory(status=Document.Status.FAILED)
    html = text_of(client_of(person("Administrators")), "/administration/")
    assert "1 document could not be read." in html and "status__exact=failed" not in html


def test_files_of_conversations_are_nobody_elses_matter() -> None:
    message = MessageFactory()
    DocumentFactory(status=Document.Status.FAILED, collection__conversation_id=message.session_id)
    assert "Nothing at the moment." in text_of(client_of(superuser()), "/administration/")


def test_the_queue_is_shown_with_its_length_and_age() -> None:
    job = IngestJobFactory()
    IngestJob.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(minutes=3))
    assert "the oldest for 3" in text_of(client_of(superuser()), "/administration/")


def test_the_number_of_queries_does_not_grow_with_what_there_is(
    django_assert_max_num_queries: Any,
) -> None:
    for _ in range(30):
        answer_recorded(MessageFactory(session__user=person("Reviewers")))
        IngestJobFactory()
    client = client_of(superuser())
    for path in PAGES:
        with django_assert_max_num_queries(30):
            client.get(path)


# ------------------------------------------------------------------------------------------------ health
def test_what_the_processes_do_not_share_is_said_with_what_to_do() -> None:
    client = client_of(superuser())
    assert "Set-up of the processes" not in text_of(client, "/administration/health/")
    shared = {"redis": True, "key": "k", "prompts": "p", "milvus_lite": False}
    for number, uploads in enumerate(("here", "there")):
        SiteProcess.objects.create(
            name=f"web {number}",
            kind="web",
            host=f"machine-{number}",
            pid=1,
            facts=shared | {"uploads": uploads},
            seen_at=timezone.now(),
        )
    said = "Not all processes keep uploaded files in the same place."
    html = text_of(client, "/administration/health/")
    assert said in html and "Set RAGSITE_UPLOADS" in html and "Has to be mended" in html
    assert said in text_of(client, "/administration/")


@pytest.mark.parametrize(
    ("name", "reason", "state", "advice"),
    [
        ("_ollama", "not reachable", "not connected", "Start the model server"),
        (
            "_milvus",
            health.Incomplete(worded("5 of 9 rows are missing")),
            "incomplete",
            "rebuild_index",
        ),
        (
            "_broker",
            health.NotReadyError(worded("its folder cannot be written")),
            "not working",
            "REDIS_URL",
        ),
        (
            "_storage",
            health.NotReadyError(worded("the disk is full")),
            "not working",
            "Free some space",
        ),
        ("_channel_layer", OSError("refused"), "not working", "REDIS_URL"),
        ("_database", OSError("refused"), "not working", "DATABASE_URL"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, name: str, reason: Any, state: str, advice: str
) -> None:
    async def wrong() -> Any:
        if isinstance(reason, Exception):
            raise reason
        return reason

    monkeypatch.setattr(health, name, wrong)
    html = text_of(client_of(superuser()), "/administration/health/")
    assert state in html and advice in html


def test_reasons_are_told_in_the_language_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """`/readyz`, which programs read, stays English."""
    known = worded("Choose a role.")  # any text of the catalogues

    async def wrong() -> Any:
        raise health.NotReadyError(known)

    monkeypatch.setattr(health, "_broker", wrong)
    monkeypatch.setattr(health, "_milvus", answering(health.Incomplete(known)))
    client = client_of(superuser())
    client.cookies["django_language"] = "zh-hans"
    with override("zh-hans"):
        translated = gettext(known)
    html = text_of(client, "/administration/health/")
    assert html.count(translated) == 2 and known not in html
    assert client.get("/readyz").json()["dependencies"]["broker"]["reason"] == known


@pytest.mark.parametrize("last", [None, timedelta(hours=2)])
def test_a_schedule_that_stands_still_is_told(
    monkeypatch: pytest.MonkeyPatch, last: timedelta | None
) -> None:
    monkeypatch.setattr(
        "ragsite.administration.state.STARTED_AT", timezone.now() - timedelta(hours=1)
    )
    PeriodicTask.objects.update(last_run_at=last and timezone.now() - last)
    assert "Celery beat" in text_of(client_of(superuser()), "/administration/health/")


def test_a_site_that_was_just_started_takes_no_schedule_for_stopped() -> None:
    PeriodicTask.objects.update(last_run_at=None)
    assert "Celery beat" not in text_of(client_of(superuser()), "/administration/health/")


def test_a_worker_that_leaves_documents_waiting_is_told() -> None:
    job = IngestJobFactory()
    client = client_of(superuser())
    assert "Celery worker" not in text_of(client, "/administration/health/")
    IngestJob.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(hours=1))
    assert "Celery worker" in text_of(client, "/administration/health/")
    IngestJob.objects.filter(pk=job.pk).update(not_before=timezone.now() + timedelta(hours=1))
    assert "Celery worker" not in text_of(client, "/administration/health/")


# ------------------------------------------------------------------------------------------------ people
def invite(by: Client, name: str, role: str = "") -> str:
    """The path of the link that the page shows."""
    html = by.post(PEOPLE, {"name": name, "role": role}).content.decode()
    found = re.search(r'id="invitation-link">http://testserver(/[^<]+)<', html)
    assert found is not None, html
    return found[1]


def test_people_are_listed_with_role_last_use_and_tokens() -> None:
    curator = person("Curators", username="carla")
    answer_recorded(MessageFactory(session__user=curator))
    html = text_of(client_of(superuser()), PEOPLE)
    row = html[html.index("carla") :]
    assert "Curator" in row and "940 tokens in 30 days" in row and "last seen" in row


def test_people_are_found_by_a_part_of_their_name() -> None:
    UserFactory(username="margaret")
    UserFactory(username="tom")
    html = text_of(client_of(superuser()), f"{PEOPLE}?search=ARGA")
    assert "margaret" in html and "tom" not in html


def test_whoever_is_invited_chooses_a_password_and_is_in() -> None:
    link = invite(sure(superuser()), "newcomer", "Curators")
    client = Client()
    assert "newcomer" in text_of(client, link)
    done = client.post(link, {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert done.status_code == 302 and is_in(client)
    newcomer = User.objects.get(username="newcomer")
    assert newcomer.is_staff and [group.name for group in newcomer.groups.all()] == ["Curators"]
    assert Client().get(link).status_code == 404  # good once


def test_a_weak_password_is_refused_and_the_link_stays_good() -> None:
    link = invite(sure(superuser()), "newcomer")
    client = Client()
    assert (
        client.post(link, {"new_password1": "12345", "new_password2": "12345"}).status_code == 200
    )
    assert not is_in(client) and client.get(link).status_code == 200


def test_a_link_ends_with_its_time_and_with_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    by = sure(superuser())
    first = invite(by, "newcomer")
    newcomer = User.objects.get(username="newcomer")
    second = by.post(address_of(newcomer), {"action": "invite"}).content.decode()
    assert "invitation-link" in second
    assert Client().get(first).status_code == 404
    third = invite(by, "other")
    monkeypatch.setattr(
        "django.core.signing.time.time", lambda: timezone.now().timestamp() + 8 * 24 * 3600
    )
    assert Client().get(third).status_code == 404
    assert Client().get("/accounts/invitation/made-up/").status_code == 404


@pytest.mark.parametrize(
    ("name", "role", "problem"),
    [("two words", "", "no spaces"), ("TAKEN", "", "already"), ("new", "Kings", "Choose a role")],
)
def test_an_invitation_that_is_wrong_says_why(name: str, role: str, problem: str) -> None:
    UserFactory(username="taken")
    answer = sure(superuser()).post(PEOPLE, {"name": name, "role": role})
    assert answer.status_code == 400 and problem in answer.content.decode()
    assert not User.objects.filter(username="new").exists()


def test_an_account_in_use_gets_no_invitation() -> None:
    used = UserFactory()
    sure(superuser()).post(address_of(used), {"action": "invite"})
    used.refresh_from_db()
    assert used.check_password(PASSWORD)


def test_a_role_is_given_and_taken() -> None:
    by, user = sure(superuser()), UserFactory()
    by.post(address_of(user), {"action": "change", "role": "Reviewers"})
    assert client_of(user).get("/review/", follow=True).status_code == 200
    by.post(address_of(user), {"action": "change", "role": ""})
    assert client_of(user).get("/review/").status_code == 404


def test_groups_that_open_collections_are_given_by_administrators_of_the_site_alone() -> None:
    group, user = Group.objects.create(name="Finance"), UserFactory()
    form = {"action": "change", "role": "", "groups": [group.pk]}
    sure(person("Administrators")).post(address_of(user), form)
    assert not user.groups.exists()
    sure(superuser()).post(address_of(user), form)
    assert list(user.groups.all()) == [group]


def _offered(client: Client, user: User) -> str:
    found = re.search(r'name="offered" value="([^"]*)"', text_of(client, address_of(user)))
    assert found
    return found[1]


def test_saving_a_person_leaves_memberships_that_the_form_does_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ragsite.administration.pages.GROUPS_SHOWN", 2)
    first, _second, third, last = (
        Group.objects.create(name=f"Group {number}") for number in range(4)
    )
    user = UserFactory()
    user.groups.add(first, last)
    by = sure(superuser())
    page = text_of(by, address_of(user))
    assert f'value="{last.pk}" checked' in page, "the person's own is shown though it comes last"
    form = {"action": "change", "role": "", "groups": [first.pk], "offered": _offered(by, user)}
    user.groups.add(third)  # by somebody else, since the form was opened
    Group.objects.create(name="Group 9").user_set.add(user)
    by.post(address_of(user), form)
    names = user.groups.order_by("name").values_list("name", flat=True)
    assert list(names) == ["Group 0", "Group 9"]


def test_groups_that_the_form_does_not_show_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragsite.administration.pages.GROUPS_SHOWN", 2)
    for number in range(4):
        Group.objects.create(name=f"Group {number}")
    page = text_of(sure(superuser()), address_of(UserFactory()))
    assert "2 more groups are not shown here" in page


def test_an_account_is_closed_with_all_it_has_open_and_opened_again() -> None:
    by, user = sure(superuser()), UserFactory()
    theirs = browser(user)
    token_create(user=user)
    by.post(address_of(user), {"action": "close"})
    assert not is_in(theirs) and not user.api_tokens.exists() and not is_in(browser(user))
    by.post(address_of(user), {"action": "open"})
    assert is_in(browser(user))


def test_somebody_is_signed_out_everywhere() -> None:
    user = UserFactory()
    theirs = browser(user)
    sure(superuser()).post(address_of(user), {"action": "sign_out"})
    assert not is_in(theirs) and is_in(browser(user))


ACTS: tuple[dict[str, Any], ...] = (
    {"action": "change", "role": ""}, {"action": "close"}, {"action": "sign_out"}, {"action": "invite"},
)  # fmt: skip


@pytest.mark.parametrize("act", ACTS)
def test_administrators_of_the_desk_change_no_administrator_of_the_site(
    act: dict[str, Any],
) -> None:
    above = superuser()
    theirs = browser(above)
    sure(person("Administrators")).post(address_of(above), act)
    above.refresh_from_db()
    assert (
        above.is_superuser and above.is_active and is_in(theirs) and above.check_password(PASSWORD)
    )


def test_nobody_gives_themselves_or_others_more_than_they_may() -> None:
    desk, other = person("Administrators"), UserFactory()
    client = sure(desk)
    for user in (desk, other):
        client.post(address_of(user), {"action": "change", "role": "superuser"})
        user.refresh_from_db()
        assert not user.is_superuser
    client.post(PEOPLE, {"name": "ghost", "role": "superuser"})
    assert not User.objects.filter(username="ghost").exists()


def test_one_administrator_of_the_site_is_always_left() -> None:
    only = superuser()
    client = sure(only)
    client.post(address_of(only), {"action": "change", "role": ""})
    client.post(address_of(only), {"action": "close"})
    only.refresh_from_db()
    assert only.is_superuser and only.is_active


def test_changes_ask_who_it_is_where_that_was_long_ago() -> None:
    user = UserFactory()
    client = client_of(superuser())
    answer = client.post(address_of(user), {"action": "close"})
    user.refresh_from_db()
    assert answer.headers["Location"].startswith("/accounts/reauthenticate/") and user.is_active
    client.post(answer.headers["Location"], {"password": PASSWORD}, follow=True)
    user.refresh_from_db()
    assert not user.is_active  # what was asked for goes on


def test_what_is_unknown_is_not_there() -> None:
    client = sure(superuser())
    assert client.get(f"{PEOPLE}999999/").status_code == 404
    assert client.post(address_of(UserFactory()), {"action": "promote"}).status_code == 404


# ------------------------------------------------------------------------------------------------ the log
def test_the_log_tells_who_did_what() -> None:
    admin, user = superuser(), UserFactory(username="leaver")
    client = sure(admin)
    client.post(address_of(user), {"action": "close"})
    answer = answer_recorded(MessageFactory())
    client.get(f"/review/answers/{answer.message_id}/")
    html = text_of(client, "/administration/log/")
    assert "Account deactivated." in html and "leaver" in html
    assert f"/review/answers/{answer.message_id}/" in html


def test_the_log_goes_back_page_by_page() -> None:
    admin, user = superuser(), UserFactory()
    for n in range(130):
        entry = LogEntry.objects.create(
            user=admin,
            object_repr=f"thing {n}.",
            action_flag=2,
            change_message="Changed.",
            object_id=user.pk,
        )
        LogEntry.objects.filter(pk=entry.pk).update(
            action_time=timezone.now() - timedelta(minutes=n)
        )
    client = client_of(admin)
    first = text_of(client, "/administration/log/")
    assert "thing 0." in first and "thing 99." in first and "thing 100." not in first
    found = re.search(r'href="(\?before=[^"]+)"', first)
    assert found is not None
    second = text_of(client, f"/administration/log/{found[1]}")
    assert "thing 99." not in second and "thing 100." in second and "thing 129." in second
    assert "?before=" not in second


def test_texts_of_others_are_shown_as_texts() -> None:
    admin = superuser()
    LogEntry.objects.create(
        user=admin, object_repr="<script>alert(1)</script>", action_flag=2, change_message="x"
    )
    html = text_of(client_of(admin), "/administration/log/")
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html


# ------------------------------------------------------------------------------------------------ budgets
def test_a_budget_is_set_changed_and_removed_and_the_log_tells_it() -> None:
    by = sure(superuser())
    group = Group.objects.create(name="Library")
    values = {"action": "set", "subject": "group", "name": "Library"}
    by.post(BUDGETS, {**values, "day": "50000", "month": ""})
    budget = Budget.objects.get(group=group)
    assert (budget.day_tokens, budget.month_tokens) == (50_000, None)
    page = by.get(f"{BUDGETS}?edit={budget.pk}").content.decode()
    assert 'value="50000"' in page and "50,000 tokens a day" in page
    by.post(BUDGETS, {**values, "day": "", "month": "0"})
    budget.refresh_from_db()
    assert (budget.day_tokens, budget.month_tokens) == (None, 0)
    by.post(BUDGETS, {"action": "remove", "budget": budget.pk})
    assert not Budget.objects.exists()
    log = by.get("/administration/log/").content.decode()
    assert "Tokens a day: 50,000; a month: –" in log and "Budget removed." in log


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"subject": "group", "name": "Nobody"}, "There is no group or person of this name."),
        ({"subject": "user", "name": ""}, "There is no group or person of this name."),
        ({"subject": "planet"}, "Choose whose budget it is."),
        ({"subject": "site", "day": "-5"}, "Enter a whole number of tokens, or nothing."),
        ({"subject": "each", "month": "9" * 16}, "At most 1,000,000,000,000,000 tokens."),
    ],
)
def test_a_budget_that_cannot_be_set_is_refused_with_a_sentence(
    values: dict[str, str], problem: str
) -> None:
    answer = sure(superuser()).post(BUDGETS, {"action": "set", **values})
    assert answer.status_code == 400 and problem in answer.content.decode()
    assert not Budget.objects.exists()


def test_the_account_says_what_is_used_and_what_is_left() -> None:
    user = UserFactory()
    Budget.objects.create(subject="user", user=user, day_tokens=10_000)
    UsageDay.objects.create(user=user, day=timezone.localdate(), model="m", prompt_tokens=10_500)
    page = client_of(user).get("/accounts/").content.decode()
    assert "10,500 of 10,000 tokens" in page and "used up" in page
    assert "10,500 tokens, no limit" in page  # of the month
