"""The judgement of passages: its training, its figures, and what models that judge are shown."""
