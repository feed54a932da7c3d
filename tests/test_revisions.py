"""The release before this one works on this one's schema, and a change that breaks it is seen."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.revisions import ROOT, Site, _git, check_out, compared, latest_release

pytestmark = pytest.mark.timeout(900)
FROZEN = [
    f"{app}/migrations/0001_initial.py" for app in ("ragsite", "retrieval", "chat", "feedback")
]


def change(site: Site, statement: str) -> None:
    with closing(sqlite3.connect(site.database)) as connection:
        connection.execute(statement)


def test_the_release_before_and_this_one_share_a_database(tmp_path: Path) -> None:
    tag = latest_release()
    if not tag:
        pytest.skip("no release is tagged yet")
    previous = tmp_path / "previous"
    previous.mkdir()
    check_out(tag, previous)
    assert compared(previous, tmp_path) == []


def test_a_schema_that_takes_away_what_running_code_needs_is_seen(
    tmp_path: Path, migrated_database: Path | None
) -> None:
    site = Site(tmp_path)
    if migrated_database is not None:
        shutil.copy(migrated_database, site.database)
    site.migrate()
    change(site, "ALTER TABLE retrieval_document ADD COLUMN shelf varchar(20) NULL")  # expand
    assert site.problems() == ""
    change(site, "ALTER TABLE retrieval_document RENAME COLUMN department TO unit")
    assert "/api/documents: 50" in site.problems()


def test_migrations_of_a_release_stay_as_they_are() -> None:
    tag = latest_release()
    if not tag:
        pytest.skip("no release is tagged yet: its migrations may be rewritten")
    changed = _git("diff", "--name-only", "--diff-filter=MDR", tag, "--", *FROZEN).stdout.split()
    assert changed == [], f"add a migration to {ROOT} instead"
