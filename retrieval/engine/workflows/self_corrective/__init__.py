"""Self-corrective RAG (seed 000): grade every document by itself, and search in other words while too few pass.

    START → condense ─┬─ nothing to search in ─► no_answer ─► END
                      └─► retrieve ─► grade ─┬─ passRate ≥ threshold, or rewrites used up ─► generate ──► END
                             ▲        ▲      ├─ the same, and nothing has passed ──────────► no_answer ► END
                             │        │      │  (with `force_generate`, as the seed has it ► generate)
                             │        │      ├─ the same, and the web is wanted ─► web_search, once ─► grade
                             │        └──────┼────────────────────────────────────────┘
                             │               └─ passRate < threshold ─► rewrite ─┬─ no other words ► as above
                             └───────────────────────────────────────────────────┘

The grader judges each document against the question as it was asked, whatever was searched for, so a grade stands for
the whole answer; what has passed in any round is what the answer is written from. Searching on stops early when the
words run out.

The web is the last resort, where it is configured and wanted: when nothing of the documents has passed, its pages are
graded in their place.

Only a model's grades, or its mark before the answer, end in no_answer: a document that no model has graded stays. With
`force_generate` the answer is written at the limit from the best documents although none has passed, and says so.
Nothing is asked back.
"""

from retrieval.engine.workflows.self_corrective.graph import WORKFLOW

__all__ = ["WORKFLOW"]
