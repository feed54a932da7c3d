"""What the desk holds of a person is deleted with the rest."""

from __future__ import annotations

import pytest

from chat.models import DeskEvent
from chat.review.marks import answer_mark, export_log
from chat.review.records import answers_record
from chat.review.roles import desk_access
from ragsite.accounts.personal_data import deletion_start, deletions_do
from tests.factories import MessageFactory
from tests.review.people import person

pytestmark = pytest.mark.django_db


def test_a_reviewers_name_goes_and_what_was_done_stays() -> None:
    reviewer, other = person("Reviewers", username="rita"), person("Administrators")
    answer = MessageFactory()
    answers_record([answer.pk])
    answer_mark(access=desk_access(reviewer), message_id=answer.pk, changes={"state": "reviewed"})
    answer_mark(access=desk_access(other), message_id=answer.pk, changes={"assignee": "rita"})
    export_log(access=desk_access(other), filters={"user": "rita", "state": "todo"}, with_names=True)
    deletion_start(user=reviewer, by=reviewer)
    assert deletions_do() == 1
    events = DeskEvent.objects.order_by("pk")
    assert [(event.by_name, event.detail) for event in events] == [
        ("–", {"from": "todo", "to": "reviewed"}),
        (other.username, {"from": None, "to": "–"}),
        (other.username, {"filters": {"user": "–", "state": "todo"}, "with_names": True}),
    ]
