"""Former names of `retrieval.steps.term_coverage` and `retrieval.grader`."""

from retrieval.grader import grade
from retrieval.steps.term_coverage import coverage, full_text, strong_terms, term_weights, terms_of

__all__ = ["coverage", "full_text", "grade", "strong_terms", "term_weights", "terms_of"]
