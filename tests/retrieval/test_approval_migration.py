"""A site from before approvals: what was public stays public; what the site vouches for stays in every search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

BEFORE = ("retrieval", "0008_chunk_size")
AFTER = ("retrieval", "0011_approve_public_collections")


def migrate(*targets: tuple[str, str]) -> Any:
    """The models as they are then."""
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets))
    return MigrationExecutor(connection).loader.project_state(list(targets)).apps


@pytest.fixture
def old_apps(transactional_db: None) -> Iterator[Any]:
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield migrate(BEFORE)
    migrate(*leaves)


@pytest.mark.timeout(300)  # a loaded machine takes long, and half a migration would break the tests that follow
def test_public_collections_of_staff_and_site_are_approved_and_others_stay_public(old_apps: Any) -> None:
    users, collections = (
        old_apps.get_model("auth", "User").objects,
        old_apps.get_model("retrieval", "Collection").objects,
    )
    staff, member = users.create(username="staff", is_staff=True), users.create(username="member")
    collections.create(name="handbook", visibility="public")
    collections.create(name="staffs", visibility="public", owner=staff)
    collections.create(name="documents", visibility="public", owner=member)
    collections.create(name="drafts", visibility="private")
    rows = migrate(AFTER).get_model("retrieval", "Collection").objects.order_by("name")
    assert list(rows.values_list("name", "visibility", "approved")) == [
        ("documents", "public", False),
        ("drafts", "private", False),
        ("handbook", "public", True),
        ("staffs", "public", True),
    ]
