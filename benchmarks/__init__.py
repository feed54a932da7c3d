"""Measurements: `python -m benchmarks.NAME` (list: docs/evaluation.md), whichever room NAME is in.

`support` is what several rooms share. Among each other modules are imported by their rooms.
"""

from pathlib import Path

ROOMS = ("answers", "feedback", "resilience", "speed")
__path__ += [str(Path(__file__).parent / room) for room in ROOMS]
