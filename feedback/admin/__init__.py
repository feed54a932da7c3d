"""The staff's pages of the feedback loop. Everything is decided through the services, so that it is checked and logged.

ratings    ratings, and the knowledge gaps that they and unanswered questions make
revisions  revisions with what they change and what was measured; freeze, roll back, resets
evidence   why a document is up: boosts in force and the votes behind them
manual     boosts by hand
log        who did what, when and why; resets are taken back here
golden     golden questions, one by one, from a reviewed answer, and as JSONL
bursts     votes that wait for a decision
"""

from feedback.admin import bursts, evidence, golden, log, manual, ratings, revisions

__all__ = ["bursts", "evidence", "golden", "log", "manual", "ratings", "revisions"]
