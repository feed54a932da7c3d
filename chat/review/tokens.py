"""Tokens of models by person and by model over some days, from the rows that answers leave (`chat.runs.spending`)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Max, Sum
from django.utils.translation import gettext as _

from chat.models import UsageDay
from chat.review.export import BYTE_ORDER_MARK
from chat.review.prices import has_prices, price_of
from chat.review.roles import DeskAccess
from chat.review.stats import Days
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.core.text import spreadsheet_cell

TokensBy = Literal["model", "person"]
NOBODY = worded("The site's own work and deleted accounts")
SHOWN = 50  # on the dashboard
COLUMNS = ("prompt_tokens", "completion_tokens", "usd", "usd_at_least")
ENDS = (Decimal("0.01"), Decimal("0.0001"))


def tokens_by(*, access: DeskAccess, by: TokensBy, days: Days) -> list[dict[str, Any]]:
    """Rows of `{"key", "label", "prompt_tokens", "completion_tokens", "usd", "usd_at_least", "without_price"}`, most
    tokens first.

    usd: of the models whose price is known, None where none is; usd_at_least: it may have been more, as large prompts
    of a model cost more; without_price: the other ones that were used. These are empty where the model server is the
    house's own. Raises RightMissingError: people are for those who see names.
    """
    if by == "person":
        access.require("names")
    rows = UsageDay.objects.filter(day__gte=days.since, day__lte=days.until).order_by()
    grouped = rows.values("model", *(["user__username"] if by == "person" else [])).annotate(
        prompt=Sum("prompt_tokens"),
        completion=Sum("completion_tokens"),
        largest=Max("prompt_tokens"),  # all that somebody sent on a day, hence no prompt is larger
    )
    priced = has_prices()
    found: dict[str, dict[str, Any]] = {}
    for row in grouped:
        key = row["model"] if by == "model" else row["user__username"] or ""
        total = found.setdefault(key, _empty_row(key, by))
        total["prompt_tokens"] += int(row["prompt"])  # a decimal on PostgreSQL
        total["completion_tokens"] += int(row["completion"])
        if priced:
            _add_price(total, row)
    return sorted(found.values(), key=_token_order)


def token_tables(*, access: DeskAccess, days: Days) -> list[dict[str, Any]]:
    """For the dashboard: by model, and by person with the right to names; each of SHOWN rows at most, and how many
    more."""
    shown: list[TokensBy] = ["model", "person"] if access.sees_names else ["model"]
    titles = {"model": (_("By model"), _("Model")), "person": (_("By person"), _("Person"))}
    tables = []
    for by in shown:
        rows = localized(tokens_by(access=access, by=by, days=days))
        for row in rows[:SHOWN]:
            row["price"] = "" if row["usd"] is None else dollars(row["usd"])
            row["sign"] = "≥" if row["usd_at_least"] else "≈"
        title, column = titles[by]
        more = max(0, len(rows) - SHOWN)
        tables.append(
            {"by": by, "title": title, "column": column, "rows": rows[:SHOWN], "more": more}
        )
    return tables


def _token_order(row: dict[str, Any]) -> tuple[int, str]:
    return -(row["prompt_tokens"] + row["completion_tokens"]), row["key"]


def _empty_row(key: str, by: TokensBy) -> dict[str, Any]:
    return {
        "key": key,
        "label": key or (NOBODY if by == "person" else "–"),
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "usd": None,
        "usd_at_least": False,
        "without_price": [],
    }


def _add_price(total: dict[str, Any], row: dict[str, Any]) -> None:
    price = price_of(
        model=row["model"],
        prompt_tokens=int(row["prompt"]),
        completion_tokens=int(row["completion"]),
        most_prompt_tokens=row["largest"],
    )
    if price is None:
        total["without_price"].append(row["model"])
    else:
        total["usd"] = (total["usd"] or Decimal()) + price.usd
        total["usd_at_least"] = total["usd_at_least"] or price.at_least


def dollars(price: Decimal) -> str:
    """`$12.40`; `< $0.01` of what is less."""
    return "< $0.01" if 0 < price < ENDS[0] else f"${price.quantize(ENDS[0]):,}"


def tokens_csv(rows: Sequence[dict[str, Any]], *, by: TokensBy) -> str:
    """The file, for spreadsheets; a price that is not known is empty."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([by, *COLUMNS])
    for row in rows:
        usd = "" if row["usd"] is None else row["usd"].quantize(ENDS[1])
        label = spreadsheet_cell(str(localized(row["label"])))
        at_least = "yes" if row["usd_at_least"] else ""
        writer.writerow([label, row["prompt_tokens"], row["completion_tokens"], usd, at_least])
    return BYTE_ORDER_MARK + file.getvalue()
