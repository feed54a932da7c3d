"""Tables of feedback in the administration, to read; golden questions are kept here as well. People decide at the desk.

tables  ratings, evidence, revisions, boosts by hand, the log
golden  golden questions, one by one, from a reviewed answer, and as JSONL
"""

from feedback.admin import golden, tables

__all__ = ["golden", "tables"]
