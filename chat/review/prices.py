"""What tokens of models cost elsewhere, by genai-prices: from the list in the package, which asks no server.

A server on this machine or in the house has no price. Else the provider is known by the server's address, and a model
by its name; list prices, without discounts or cached prompts.
"""

from __future__ import annotations

import ipaddress
import logging
from decimal import Decimal
from urllib.parse import urlsplit

from django.conf import settings

INSIDE = (".local", ".lan", ".internal", ".home.arpa", ".localhost")
logger = logging.getLogger(__name__)


def has_prices() -> bool:
    """Whether the server of the writing model, as it is set now, is somebody else's."""
    kind, url = settings.RAG.ollama.server_of("answer")
    return kind == "openai" and not _is_inside(url)


def price_of(*, model: str, prompt_tokens: int, completion_tokens: int) -> Decimal | None:
    """In US dollars; None where no price is known."""
    from genai_prices import Usage, calc_price  # 2 MB, for who looks at the dashboard alone

    _, url = settings.RAG.ollama.server_of("answer")
    usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
    try:
        return calc_price(usage, model, provider_api_url=url).total_price
    except LookupError:
        return None
    except Exception:  # of a list that others keep: the dashboard shows its figures all the same
        logger.exception("the price of model %s could not be found", model)
        return None


def _is_inside(url: str) -> bool:
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(INSIDE)
    return not address.is_global
