"""Ratings, the evidence and boosts made of them, and the decisions of staff.

ratings      Rating: of one answer or source, by one user
evidence     RatedQuestion, QuestionPair, RatedPassage, Evidence: votes for or against passages
revisions    Revision, Boost, FeedbackState: boosts made of the evidence, and which are live
gaps         KnowledgeGap, GapQuestion, GapDocument: what the documents do not answer, as to-dos
requests     GapRequest, GapRequestSource: questions that were sent to a person
curation     GoldenQuestion, ManualBoost, CuratedAnswer, CuratedSource: what staff enter themselves
imports      CurationImport, CurationImportPart: files of such answers and questions on their way in
"""

from feedback.models.curation import CuratedAnswer, CuratedSource, GoldenQuestion, ManualBoost
from feedback.models.evidence import (
    Evidence,
    QuestionPair,
    RatedPassage,
    RatedQuestion,
)
from feedback.models.gaps import GapDocument, GapQuestion, KnowledgeGap
from feedback.models.imports import CurationImport, CurationImportPart
from feedback.models.ratings import Rating
from feedback.models.requests import GapRequest, GapRequestSource
from feedback.models.revisions import Boost, FeedbackState, Revision, round_report

__all__ = [
    "Boost",
    "CuratedAnswer",
    "CuratedSource",
    "CurationImport",
    "CurationImportPart",
    "Evidence",
    "FeedbackState",
    "GapDocument",
    "GapQuestion",
    "GapRequest",
    "GapRequestSource",
    "GoldenQuestion",
    "KnowledgeGap",
    "ManualBoost",
    "QuestionPair",
    "RatedPassage",
    "RatedQuestion",
    "Rating",
    "Revision",
    "round_report",
]
