"""pymilvus without pandas, which it imports for one thing that nobody here does: to take a DataFrame as rows.

pandas brings pyarrow with it, together 67 MiB and two thirds of the import's time, in each process that searches. So
while pymilvus is imported, small modules stand in pandas' place: `DataFrame` is nobody's class unless pandas is there,
and functions import pandas when they are called. A pymilvus that wants more of pandas is imported with it.
"""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

logger = logging.getLogger(__name__)
_importing = threading.Lock()


def load_pymilvus() -> Any:
    """The module `pymilvus`. Takes a quarter of a second the first time."""
    with _importing:
        if "pymilvus" not in sys.modules and "pandas" not in sys.modules:
            try:
                with _pandas_later():
                    importlib.import_module("pymilvus")
            except (ImportError, AttributeError) as error:
                logger.warning("pymilvus needs more of pandas (%s); both are imported.", error)
                for name in [name for name in sys.modules if name.partition(".")[0] == "pymilvus"]:
                    del sys.modules[name]
        return importlib.import_module("pymilvus")


class _DataFrameType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        pandas = sys.modules.get("pandas")
        return pandas is not None and isinstance(instance, pandas.DataFrame)


class _DataFrame(metaclass=_DataFrameType):
    """For annotations, and for `isinstance`: of pandas' class, where pandas is there."""


@contextmanager
def _pandas_later() -> Iterator[None]:
    pandas, api, types = (ModuleType(name) for name in ("pandas", "pandas.api", "pandas.api.types"))
    pandas.DataFrame = _DataFrame  # type: ignore[attr-defined]
    pandas.__path__, api.__path__ = [], []
    types.__getattr__ = _called_later  # type: ignore[method-assign]
    modules = {module.__name__: module for module in (pandas, api, types)}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _called_later(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)

    def function(*args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module("pandas.api.types"), name)(*args, **options)

    return function
