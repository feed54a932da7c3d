"""The index over what answers can be found by: GIN on PostgreSQL, FTS5 with its triggers on SQLite."""

from django.db import migrations

# Without a list of pending entries: while that is long, the planner reads the whole table instead.
POSTGRESQL = """
CREATE INDEX chat_answerterms_gin ON chat_answerterms USING gin (string_to_array(terms, ' ')) WITH (fastupdate = off);
"""
# The terms are made by our own analysis: the tokenizer only has to leave each of them whole.
SQLITE = [
    """
    CREATE VIRTUAL TABLE chat_answerterms_fts USING fts5(
        terms, content='chat_answerterms', content_rowid='answer_id',
        tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Pc Co'"
    )
    """,
    """
    CREATE TRIGGER chat_answerterms_inserted AFTER INSERT ON chat_answerterms BEGIN
        INSERT INTO chat_answerterms_fts(rowid, terms) VALUES (new.answer_id, new.terms);
    END
    """,
    """
    CREATE TRIGGER chat_answerterms_deleted AFTER DELETE ON chat_answerterms BEGIN
        INSERT INTO chat_answerterms_fts(chat_answerterms_fts, rowid, terms) VALUES ('delete', old.answer_id, old.terms);
    END
    """,
    """
    CREATE TRIGGER chat_answerterms_updated AFTER UPDATE ON chat_answerterms BEGIN
        INSERT INTO chat_answerterms_fts(chat_answerterms_fts, rowid, terms) VALUES ('delete', old.answer_id, old.terms);
        INSERT INTO chat_answerterms_fts(rowid, terms) VALUES (new.answer_id, new.terms);
    END
    """,
]


def make(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else [POSTGRESQL]:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for trigger in ("inserted", "deleted", "updated"):
            schema_editor.execute(f"DROP TRIGGER IF EXISTS chat_answerterms_{trigger}")
        schema_editor.execute("DROP TABLE IF EXISTS chat_answerterms_fts")
    else:
        schema_editor.execute("DROP INDEX IF EXISTS chat_answerterms_gin")


class Migration(migrations.Migration):
    dependencies = [("chat", "0008_review_desk")]
    operations = [migrations.RunPython(make, drop)]
