"""How probably a passage, and the documents as a whole, answer a question: a small trained model, no call of an LLM."""

from retrieval.answerability.estimate import LIST_LENGTH, estimate_answerability
from retrieval.answerability.model import AnswerabilityModel, Estimate, load_model, shipped_model

__all__ = ["LIST_LENGTH", "AnswerabilityModel", "Estimate", "estimate_answerability", "load_model", "shipped_model"]
