"""Other values for constants of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest


@contextmanager
def constants(module: ModuleType, **values: Any) -> Iterator[None]:
    """`with constants(reader, MAX_PAGES=2): …`; outside of tests' own functions, where no fixture can be asked for."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(module, name, value)
        yield
