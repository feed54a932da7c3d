"""How probably what a search found answers the question: a small logistic, no call of a model."""

from retrieval.answerability.estimate import LIST_LENGTH, estimate_answerability

__all__ = ["LIST_LENGTH", "estimate_answerability"]
