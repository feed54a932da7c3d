"""Measures retrieval on labelled questions: loads a set into a throw-away collection and runs it stage by stage.

dataset      corpus.jsonl, queries.jsonl, qrels.tsv
collection   the set in Milvus and in memory; nothing of it reaches the site's database
runner       the stages dense, bm25, hybrid, +rewrite, +hyde, +rerank, +boosts, and the decisions of a workflow
metrics      nDCG, recall, MRR by ir-measures; latency percentiles
report       tables, comparison with an earlier run
"""
