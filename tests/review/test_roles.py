"""Who may do what at the review desk."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group

from chat.review.roles import RightMissingError, desk_access, roles_make
from tests.factories import UserFactory
from tests.review.people import person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("Reviewers", {"read", "export"}),
        ("Curators", {"read", "export", "curate"}),
        ("Administrators", {"read", "names", "export", "curate", "administer"}),
    ],
)
def test_each_role_that_ships_has_its_rights(role: str, rights: set[str]) -> None:
    assert desk_access(person(role)).rights == rights


def test_a_superuser_may_do_all() -> None:
    assert desk_access(UserFactory(is_superuser=True)).rights == {"read", "names", "export", "curate", "administer"}


def test_a_right_that_the_role_lacks_is_refused_with_what_to_ask_for() -> None:
    with pytest.raises(RightMissingError, match="Administrators"):
        desk_access(person("Curators"), "administer")


def test_a_group_that_is_there_keeps_what_it_had() -> None:
    group = Group.objects.get(name="Reviewers")
    group.permissions.clear()
    roles_make("default")
    assert not group.permissions.exists()
