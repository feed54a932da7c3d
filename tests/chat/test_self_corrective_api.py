"""POST /api/self-corrective-rag: the seed's request and response, over the real workflow and a real index."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from tests.chat.conftest import Api, Handbook, ScriptedWorkflow, events_of, types
from tests.factories import CollectionFactory

PATH = "/api/self-corrective-rag"
QUESTION = "How many books may an undergraduate borrow?"


async def post(api: Api, **body: Any) -> Any:
    return await api.call("post", PATH, {"query": QUESTION, **body})


async def test_the_response_is_the_seeds(api: Api, handbook: Handbook, online: Any) -> None:
    await handbook()
    online.reply(
        match="is_relevant",
        json={"is_relevant": True, "confidence": 9, "reasoning": "it states the number"},
    )
    online.reply(structured=False, text="Ten books [1].")
    response = await post(api, topK=2, milvusConfig={"collectionName": "handbook"})
    data = response.json()
    assert response.status_code == 200, data
    assert (data["success"], data["answer"]) == (True, "Ten books [1].")
    assert data["query"] == {
        "original": QUESTION,
        "final": QUESTION,
        "wasRewritten": False,
        "rewriteCount": 0,
    }
    assert data["rewriteHistory"] == []
    retrieval, grader = data["retrieval"], data["graderResult"]
    assert (
        retrieval["totalDocuments"]
        == retrieval["filteredDocuments"]
        == len(retrieval["documents"])
        <= 2
    )
    assert retrieval["documents"][0]["gradeResult"]["reasoning"] == "it states the number"
    assert "ten books" in retrieval["documents"][0]["content"]
    assert (grader["passRate"], grader["shouldRewrite"]) == (1.0, False)
    assert grader["passCount"] == grader["totalCount"] == len(grader["documentGrades"])
    nodes = [(one["node"], one["status"]) for one in data["workflow"]["nodeExecutions"]]
    assert nodes == [("condense", "skipped"), ("retrieve", "completed"), ("grade", "completed"),
                     ("generate", "completed")]  # fmt: skip
    assert data["workflow"]["totalDuration"] >= 0
    assert any(line.startswith("RETRIEVE: ") for line in data["workflow"]["decisionPath"])


async def test_rewrites_and_the_documents_that_failed_are_told(
    api: Api, handbook: Handbook, online: Any
) -> None:
    await handbook()
    online.reply(match="is_relevant", json={"is_relevant": False, "confidence": 8})
    for number in (1, 2):
        rewrite = {
            "rewritten_query": f"loan limit {number}",
            "rewrite_reason": "too long",
            "keywords": ["loan"],
        }
        online.reply(match="rewritten_query", json=rewrite, times=1)
    data = (await post(api, maxRewriteAttempts=2, gradePassThreshold=0.8)).json()
    assert data["decision"] == "NO_ANSWER"
    assert data["query"] == {
        "original": QUESTION, "final": "loan limit 2", "wasRewritten": True, "rewriteCount": 2,
    }  # fmt: skip
    assert data["rewriteHistory"][0] == {
        "original": QUESTION, "rewritten": "loan limit 1", "reason": "too long", "keywords": ["loan"], "attempt": 1,
    }  # fmt: skip
    assert data["retrieval"]["filteredDocuments"] == 0 < data["retrieval"]["totalDocuments"]
    assert [one["node"] for one in data["workflow"]["nodeExecutions"]].count("rewrite") == 2


async def test_it_can_be_followed_as_events(api: Api, handbook: Handbook, offline: None) -> None:
    await handbook()
    response = await api.call("post", PATH, {"query": QUESTION}, Accept="text/event-stream")
    events = [event async for event in events_of(response)]
    assert events[0]["workflow"] == "self_corrective"
    assert types(events)[-1] == "done"
    graded = next(
        event["step"]
        for event in events
        if event["type"] == "reasoning" and event["step"]["name"] == "grade"
    )
    assert graded["detail"]["documents"][0]["reason"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"), ({"query": None}, "query"), ({"query": 7}, "query"), ({"query": "  "}, "query"),
        ({"topK": 0}, "topK"), ({"topK": 9999}, "topK"), ({"topK": "5"}, "topK"), ({"topK": True}, "topK"),
        ({"similarityThreshold": 1.5}, "similarityThreshold"), ({"similarityThreshold": "x"}, "similarityThreshold"),
        ({"maxRewriteAttempts": -1}, "maxRewriteAttempts"), ({"maxRewriteAttempts": 99}, "maxRewriteAttempts"),
        ({"gradePassThreshold": -0.1}, "gradePassThreshold"), ({"gradePassThreshold": [1]}, "gradePassThreshold"),
        ({"milvusConfig": "localhost"}, "milvusConfig"), ({"milvusConfig": {"collection": "a"}}, "milvusConfig"),
        ({"milvusConfig": {"collectionName": 5}}, "milvusConfig"), ({"sessionId": "mine"}, "sessionId"),
        ({"sessionId": 5}, "sessionId"),
    ],
)  # fmt: skip
async def test_wrong_input_is_refused_by_its_field(
    api: Api, workflow: ScriptedWorkflow, body: Any, field: str
) -> None:
    response = await post(api, **body)
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert not workflow.questions


async def test_at_the_limit_an_answer_is_written_although_no_document_passed_where_the_request_wants_it(
    api: Api, handbook: Handbook, online: Any
) -> None:
    await handbook()
    online.reply(match="is_relevant", json={"is_relevant": False, "confidence": 8})
    online.reply(structured=False, text="Ten books [1].")
    data = (await post(api, maxRewriteAttempts=0, forceGenerate=True)).json()
    assert (data["decision"], data["answer"]) == ("ANSWER", "Ten books [1].")
    assert data["retrieval"]["filteredDocuments"] == 0
    assert "an answer was asked for all the same" in data["graderResult"]["reasoning"]


async def test_the_seeds_own_example_works_as_it_stands(
    api: Api, handbook: Handbook, offline: None
) -> None:
    await handbook()
    example = {
        "topK": 5,
        "similarityThreshold": 0.3,
        "maxRewriteAttempts": 3,
        "gradePassThreshold": 0.6,
    }
    response = await post(
        api,
        **example,
        milvusConfig={"address": "localhost:19530", "collectionName": "rag_documents"},
    )
    assert response.status_code == 200, response.json()
    assert response.json()["retrieval"]["totalDocuments"]


async def test_another_unknown_collection_is_still_refused(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    response = await post(api, milvusConfig={"collectionName": "rag_other"})
    assert response.status_code == 404
    assert not workflow.questions


async def test_a_collection_of_the_seeds_name_is_searched_alone(
    api: Api, workflow: ScriptedWorkflow, user: User
) -> None:
    named = await sync_to_async(CollectionFactory)(
        name="rag_documents", owner=user, visibility="private"
    )
    await sync_to_async(CollectionFactory)(name="handbook", owner=user, visibility="private")
    assert (await post(api, milvusConfig={"collectionName": "rag_documents"})).status_code == 200
    (question,) = workflow.questions
    assert question.scope.ids == (str(named.pk),)


@pytest.mark.parametrize(
    "address", ["milvus.internal:19530", "http://milvus.internal:19530/", "milvus.internal"]
)
async def test_the_sites_own_milvus_is_a_name_of_its_index(
    api: Api, workflow: ScriptedWorkflow, rag_settings: Any, address: str
) -> None:
    rag_settings(milvus={"uri": "http://milvus.internal:19530"})
    assert (await post(api, milvusConfig={"address": address})).status_code == 200
    assert len(workflow.questions) == 1


@pytest.mark.parametrize(
    "address",
    [
        "localhost:19531",
        "http://169.254.169.254/",
        "milvus.example:19530",
        "http://u:p@localhost:19530",
        "[",
        "::1",
    ],
)
async def test_any_other_address_is_refused_with_the_name_of_the_setting_unless_it_was_allowed(
    api: Api, workflow: ScriptedWorkflow, rag_settings: Any, address: str
) -> None:
    response = await post(api, milvusConfig={"address": address})
    assert response.status_code == 400
    (reason,) = response.json()["error"]["fields"]["milvusConfig"]["address"]
    assert "RAG_SELF_CORRECTIVE_ALLOWED_ADDRESSES" in reason
    rag_settings(self_corrective={"allowed_addresses": f"other:1, {address}"})
    assert (await post(api, milvusConfig={"address": address})).status_code == 200
    assert len(workflow.questions) == 1
