"""Thumbs and scores: up is 5, down is 1; a score of 4 still points up, 2 down, 3 neither way."""

from __future__ import annotations

from typing import Literal

Thumb = Literal["up", "down"]


def score_of(thumb: Thumb) -> int:
    return 5 if thumb == "up" else 1


def thumb_of(score: int) -> Thumb | None:
    """Which way a score (1-5) points."""
    if score >= 4:
        return "up"
    return "down" if score <= 2 else None
