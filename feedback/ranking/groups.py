"""Rows grouped by the values of some columns: what GROUP BY is in SQL, for numpy arrays of one length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True, slots=True)
class Groups:
    """order: shape (rows,), the row numbers, group after group. starts: shape (groups,), where each group begins in it.

    The groups ascend by their columns; the rows of a group ascend by `then_by`, or keep their order.
    """

    order: Ints
    starts: Ints

    @classmethod
    def by(cls, *columns: Ints, then_by: tuple[Ints, ...] = ()) -> Self:
        """The rows that are equal in all `columns` make a group."""
        order = np.lexsort((*reversed(then_by), *reversed(columns)))
        begins = np.zeros(len(order), dtype=bool)
        begins[:1] = True
        for column in columns:
            ordered = column[order]
            begins[1:] |= ordered[1:] != ordered[:-1]
        return cls(order, np.flatnonzero(begins))

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts, append=len(self.order))

    @property
    def first(self) -> Ints:
        """The first row of each group."""
        return self.order[self.starts]

    @property
    def last(self) -> Ints:
        return self.order[self.starts + self.sizes - 1]

    def sum(self, values: NDArray[Number]) -> NDArray[Number]:
        """values: one for each row. Returns one for each group."""
        return np.add.reduceat(values[self.order], self.starts) if len(self.starts) else values[:0]

    def max(self, values: NDArray[Number]) -> NDArray[Number]:
        return np.maximum.reduceat(values[self.order], self.starts) if len(self.starts) else values[:0]

    def mean_of_known(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Without the values that are NaN; NaN for a group that has no others."""
        known = ~np.isnan(values)
        counts = self.sum(known.astype(np.float64))
        sums = self.sum(np.where(known, values, 0.0))
        return np.divide(sums, counts, out=np.full_like(counts, np.nan), where=counts > 0)

    def place_in_group(self) -> Ints:
        """Of each row, 0 for the first of its group."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order)) - np.repeat(self.starts, self.sizes)
        return places

    def spread(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """values: one for each group. Returns one for each row."""
        rows = np.empty(len(self.order), dtype=values.dtype)
        rows[self.order] = np.repeat(values, self.sizes)
        return rows

    def of_size(self, least: int) -> Iterator[Ints]:
        """The rows of each group that has at least so many."""
        sizes = self.sizes
        large = sizes >= least
        for start, size in zip(self.starts[large].tolist(), sizes[large].tolist(), strict=True):
            yield self.order[start : start + size]
