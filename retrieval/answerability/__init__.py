"""A model-free grader: how probably a passage, and the documents as a whole, answer a question."""

from retrieval.answerability.model import Grader, Grading, grade, holds_answer, load_grader, shipped_grader

__all__ = ["Grader", "Grading", "grade", "holds_answer", "load_grader", "shipped_grader"]
