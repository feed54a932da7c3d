"""What stages are called at the desk, in the active language."""

from django.utils.translation import gettext as _

from retrieval.evaluation.stages import DECISIONS


def stage_label(stage: str) -> str:
    names = {
        "dense": _("Embeddings alone"), "bm25": _("Words alone (BM25)"), "hybrid": _("Hybrid"),
        "+rewrite": _("With rewriting"), "+hyde": _("With an imagined passage"), "+rerank": _("With reranking"),
        "+boosts": _("With boosts"), DECISIONS: _("Decisions"),
    }  # fmt: skip
    return names.get(stage, stage)
