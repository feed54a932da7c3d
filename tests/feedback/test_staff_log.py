"""What staff decide is in the log with who and why, can be taken back, and is told in words."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from feedback.models import Revision, RevisionEvent
from feedback.rounds.revisions import revision_go_live

pytestmark = pytest.mark.django_db
UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def test_entries_of_earlier_versions_and_peoples_own_words_stay_as_they_are() -> None:
    for why in ("The guard let it pass.", "{name} said so"):
        event = RevisionEvent.log("held", why=why)
        with translation.override("zh-hans"):
            assert event.why_said == why
        assert event.detail == {}


def test_a_taken_back_revision_keeps_the_reason_in_its_parts() -> None:
    first, second = (Revision.objects.create(number=number, digest=f"{number}" * 32) for number in (8, 9))
    for revision in (first, second):
        revision_go_live(revision=revision)
    first.refresh_from_db()
    assert first.guard["wordings"][first.reason]["values"] == {"number": second.number}
