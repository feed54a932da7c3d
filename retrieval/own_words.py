"""Where rules look at a question's own words: on the event loop, or in a thread when the question is long.

For a usual question they take some microseconds; handing them to a thread and back takes half a millisecond of the
event loop, and the threads of the answers beside it wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
USUAL_CHARS = 1000  # of a question, with what is looked at beside it


async def look_at(
    chars: int, rules: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """`rules(*args, **kwargs)`; chars: of the texts that they look at, together."""
    if chars <= USUAL_CHARS:
        return rules(*args, **kwargs)
    return await asyncio.to_thread(rules, *args, **kwargs)
