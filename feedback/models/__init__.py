"""Ratings, the evidence and boosts made of them, and the decisions of staff.

ratings      Rating: of one answer or source, by one user
evidence     RatedQuestion, QuestionVector, RatedPassage, PassageSketch, Evidence, Burst, SetAsideVote: votes for or
             against passages
revisions    Revision, Boost, RevisionEvent, FeedbackState: boosts made of the evidence, and which are live
judges       JudgeAgreement: how models' judgements have agreed with golden questions and ratings
curation     GoldenQuestion, GoldenRelevance, ManualBoost: what staff enter themselves
"""

from feedback.models.curation import GoldenQuestion, GoldenRelevance, ManualBoost
from feedback.models.evidence import (
    Burst,
    Evidence,
    PassageSketch,
    QuestionVector,
    RatedPassage,
    RatedQuestion,
    SetAsideVote,
)
from feedback.models.judges import JudgeAgreement
from feedback.models.ratings import Rating
from feedback.models.revisions import Boost, FeedbackState, Revision, RevisionEvent

__all__ = [
    "Boost",
    "Burst",
    "Evidence",
    "FeedbackState",
    "GoldenQuestion",
    "GoldenRelevance",
    "JudgeAgreement",
    "ManualBoost",
    "PassageSketch",
    "QuestionVector",
    "RatedPassage",
    "RatedQuestion",
    "Rating",
    "Revision",
    "RevisionEvent",
    "SetAsideVote",
]
