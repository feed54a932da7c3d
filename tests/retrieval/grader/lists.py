"""Candidate lists for the grader's tests."""

from retrieval.values import ScoredChunk, Scores, StoredChunk

PASSAGES = (
    (
        "Library rules",
        "Undergraduates may borrow twelve books for four weeks. Late returns cost 20 cents a day.",
        0.71,
        9.1,
    ),
    ("Library rules", "The library opens at eight. Group rooms can be booked for two hours.", 0.44, 3.2),
    ("Sports", "The swimming pool closes in August. A season ticket costs 60 euros.", 0.12, 0.4),
    ("Parking", "Staff park behind the main hall. Bicycles stand in the yard.", 0.08, 0.2),
)
CHINESE = (
    ("图书馆", "本科生最多可以借十二本书，借期四周。逾期每天罚款两角。", None, 8.4),
    ("游泳馆", "游泳馆八月关闭。季票六十欧元。", None, 0.9),
    ("停车", "教职工在主楼后面停车。", None, 0.3),
)


def scored(rows: tuple[tuple[str, str, float | None, float], ...], *, vectors: bool = True) -> list[ScoredChunk]:
    return [
        ScoredChunk(
            chunk=StoredChunk(chunk_id=str(at), document_id=str(at), collection_id="c", seq=0, title=title, text=text),
            scores=Scores(dense=dense if vectors else None, bm25=bm25),
        )
        for at, (title, text, dense, bm25) in enumerate(rows)
    ]
