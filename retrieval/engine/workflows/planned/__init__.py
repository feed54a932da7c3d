"""Planned RAG (seed 002 §8): plan the search as a graph of tasks, run it, reflect on what it found; then answer.

    START ─┬─ nothing to search ─► no_answer ─► END
           └─► plan ─► execute ─► reflect ─┬─ good, or nothing left to try ─► generate ─┬─ written ─► END
                          ▲                ├─ refused to the last ─► no_answer ─► END   │
                          │                └─ not good, and a retry is left ─┐          │ the passages do not
                          └──────────────────────────── mend ◄───────────────┴──────────┘ answer, or not confirmed

`plan` holds what a plan is and how a model makes one, `runner` what its tasks do, `reflection` what is said of the
result and what is done about it, `graph` the nodes.

Of a model's plan only what can run is kept: known types, and dependencies on tasks that stand before. Without a model
the plan is one search with the user's own words. `execute` runs tasks that do not wait for each other side by side.
`reflect` scores relevance, completeness and factuality, and names the problems; `mend` adds a task against the first of
them, at most `max_retries` times. The best result so far is used. An answer that the second look does not confirm is
searched for once more; what has been read is not taken back, another answer stands behind it. Only a model's word
refuses.
"""

from retrieval.engine.workflows.planned.graph import WORKFLOW

__all__ = ["WORKFLOW"]
