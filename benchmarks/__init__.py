"""Measurements: `python -m benchmarks.ROOM.NAME` (list: docs/evaluation.md). `support` is what several rooms share."""
