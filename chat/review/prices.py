"""What tokens of models cost elsewhere, by genai-prices: from the list in the package, which asks no server.

A server on this machine or in the house has no price. Else the provider is known by the server's address, and a model
by its name; list prices, without discounts or cached prompts.
"""

from __future__ import annotations

import ipaddress
import logging
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

INSIDE = (".local", ".lan", ".internal", ".home.arpa", ".localhost")
logger = logging.getLogger(__name__)


def has_prices() -> bool:
    """Whether the server of the writing model, as it is set now, is somebody else's."""
    kind, url = settings.RAG.ollama.server_of("answer")
    return kind == "openai" and not _is_inside(url)


class Price(NamedTuple):
    """usd: as if no prompt was large enough for a higher price. at_least: whether one may have been."""

    usd: Decimal
    at_least: bool


def price_of(
    *, model: str, prompt_tokens: int, completion_tokens: int, most_prompt_tokens: int
) -> Price | None:
    """Of many calls together; None where no price is known.

    most_prompt_tokens: what no prompt was larger than. A higher price is that of a large prompt, not of a long day.
    """
    from genai_prices import Usage, calc_price  # 2 MB, for visitors of the dashboard alone
    from genai_prices.types import TieredPrices

    _, url = settings.RAG.ollama.server_of("answer")
    try:
        of_one = calc_price(Usage(input_tokens=1, output_tokens=1), model, provider_api_url=url)
    except LookupError:
        return None
    except Exception:  # of a list that others keep: the dashboard shows its figures all the same
        logger.exception("the price of model %s could not be found", model)
        return None
    stairs = [
        price for price in vars(of_one.model_price).values() if isinstance(price, TieredPrices)
    ]
    starts = [stair.start for price in stairs for stair in price.tiers]
    is_by_request = of_one.total_price != of_one.input_price + of_one.output_price
    return Price(
        usd=of_one.input_price * prompt_tokens + of_one.output_price * completion_tokens,
        at_least=is_by_request or any(most_prompt_tokens > start for start in starts),
    )


def _is_inside(url: str) -> bool:
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(INSIDE)
    return not address.is_global
