"""Who may do what at the review desk."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group

from chat.review.roles import desk_access, roles_make
from tests.clients import person
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("superuser", {"read", "names", "export", "curate", "administer"}),
        ("Reviewers", {"read", "export"}),
        ("Curators", {"read", "export", "curate"}),
        ("Administrators", {"read", "names", "export", "curate", "administer"}),
    ],
)
def test_each_role_that_ships_has_its_rights(role: str, rights: set[str]) -> None:
    user = UserFactory(is_superuser=True) if role == "superuser" else person(role)
    assert desk_access(user).rights == rights


def test_a_group_that_is_there_keeps_what_it_had() -> None:
    group = Group.objects.get(name="Reviewers")
    group.permissions.clear()
    roles_make("default")
    assert not group.permissions.exists()
