"""Measurements: `python -m benchmarks.NAME` (list: docs/evaluation.md)."""
