"""`dual_loop`: the material is checked before the answer is written, and the answer before it is sent (seed 001).

    START → retrieve_memory → route_query ─┬─ direct ──► direct_response
                                           │                   │
                                           ├─ search           │      ┌─ rejected, at most 2 times ──┐
                                           ▼                   ▼      │                              │
                     ┌──────────── rewrite_query ◄─────── grade_relevance ◄──── generate_response    │
                     │                   ▲                     │   ▲                    ▲            │
                     │                   └─────────────────────┼───┼────────────────────┼────────────┘
                     ▼                                 accepted, or no                  │
             retrieve_documents ◄─┐ next strategy      correction left                  │
                     │            │ that was not tried         ▼                        │
                     └──► grade_documents ── relevant ─────────┼────────────────────────┘
                                  │                            ▼
                                  │ none is left         send_response → consolidate_memory → END
                                  ▼                            ▲
                   clarify, or fallback_response → END         └─ an earlier draft, where there is one

Inner loop: hierarchical_search, direct_chunk_search and web_search, each once (`tried_routes`). Nothing found in the
documents goes on to the web by itself. Only a model's word refuses or asks back.
Outer loop: an answer is written to the end, graded, looked at a second time, and only then sent, so that no reader sees
text that is taken back; the steps' events show what happens meanwhile. A corrective round searches with new
words, so every strategy is open again in it, and what was found is judged again. One that the second look does not
confirm is searched for and written once more. What is worth remembering is written down after the answer was sent, and
condensed by a worker later.
"""

from retrieval.engine.workflows.dual_loop.graph import WORKFLOW

__all__ = ["WORKFLOW"]
