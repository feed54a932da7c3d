"""The dashboard's rows get, beside each workflow, model and language, one of all of them together.

They are added up from the rows that are there: days whose conversations went by age can't be counted again.
"""

from collections import Counter, defaultdict
from itertools import product

from django.db import migrations, models

ANY = "*"
COUNTS = (
    "answers", "answered", "clarified", "no_answer", "cut", "weak", "degraded", "slow", "flagged", "rated",
    "rated_good", "rated_bad", "llm_calls", "llm_rounds", "prompt_tokens", "completion_tokens",
)  # fmt: skip
SKETCHES = ("first_token_ms", "total_ms")


def add_margins(apps, schema_editor):
    rollups = apps.get_model("chat", "AnswerRollup").objects
    for day in list(rollups.order_by("day").values_list("day", flat=True).distinct()):
        groups = defaultdict(list)
        for row in rollups.filter(day=day):
            parts = product(*((value, ANY) for value in (row.workflow, row.model, row.language)))
            for key in parts:
                if ANY in key:
                    groups[(*key, row.collection_id)].append(row)
        rollups.bulk_create(
            rollups.model(
                day=day, workflow=workflow, model=model, language=language, collection_id=collection,
                **{name: sum(getattr(row, name) for row in rows) for name in COUNTS},
                **{name: dict(sum((Counter(getattr(row, name)) for row in rows), Counter())) for name in SKETCHES},
            )
            for (workflow, model, language, collection), rows in groups.items()
        )  # fmt: skip


def drop_margins(apps, schema_editor):
    rollups = apps.get_model("chat", "AnswerRollup").objects
    for name in ("workflow", "model", "language"):
        rollups.filter(**{name: ANY}).delete()


class Migration(migrations.Migration):
    dependencies = [("chat", "0018_rollups_of_a_day")]
    operations = [
        # Indexes first: PostgreSQL makes none of a table that rows were put into before.
        migrations.RemoveIndex(model_name="answerrollup", name="rollup_collection_day"),
        migrations.AddIndex(
            model_name="answerrollup",
            index=models.Index(
                fields=["collection", "language", "model", "workflow", "day"], name="rollup_parts_day"
            ),
        ),
        migrations.AddIndex(
            model_name="answerrollup",
            index=models.Index(fields=["workflow", "model", "language", "day"], name="rollup_collections_day"),
        ),
        migrations.RunPython(add_margins, drop_margins),
    ]
