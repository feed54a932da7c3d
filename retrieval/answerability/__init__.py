"""How probably a passage, and the documents as a whole, answer a question: a small trained model, no call of an LLM."""

from retrieval.answerability.model import LIST_LENGTH, Estimate, estimate_answerability

__all__ = ["LIST_LENGTH", "Estimate", "estimate_answerability"]
