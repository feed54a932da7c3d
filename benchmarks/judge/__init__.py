"""The estimate of answerability: its weights and its figures."""
