"""Operations of migrations that hold nobody up."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.migrations.operations import AddIndex


class AddIndexOnline(AddIndexConcurrently):
    """An index of a table that may be large, in a migration with `atomic = False`: on PostgreSQL those who write go on
    meanwhile. On SQLite nobody writes while it migrates, and its statement is not shown by `sqlmigrate`, where the
    linter would take it for PostgreSQL's."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        elif not schema_editor.collect_sql:
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        elif not schema_editor.collect_sql:
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)
