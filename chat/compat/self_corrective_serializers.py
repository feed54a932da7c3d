"""The response of `POST /api/self-corrective-rag`, under seed 000's own names. Times are in ms."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

Output = serializers.Serializer[Any]


class SearchedQuerySerializer(Output):
    original = serializers.CharField()
    final = serializers.CharField(help_text="The last one that was searched for.")
    wasRewritten = serializers.BooleanField()
    rewriteCount = serializers.IntegerField()


class RewriteSerializer(Output):
    original = serializers.CharField(allow_null=True)
    rewritten = serializers.CharField()
    reason = serializers.CharField(allow_null=True)
    keywords = serializers.ListField(child=serializers.CharField())
    attempt = serializers.IntegerField(allow_null=True, help_text="From 1.")


class DocumentGradeSerializer(Output):
    """byModel: false where no model gave a verdict, so that the document stays."""

    isRelevant = serializers.BooleanField()
    confidence = serializers.FloatField(help_text="In the verdict, 0 to 1.")
    reasoning = serializers.CharField()
    byModel = serializers.BooleanField()


class NamedGradeSerializer(DocumentGradeSerializer):
    docId = serializers.CharField()


class GradedMetadataSerializer(Output):
    documentId = serializers.CharField()
    title = serializers.CharField()
    fileName = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    heading = serializers.CharField()
    scores = serializers.DictField(child=serializers.FloatField())


class GradedDocumentSerializer(Output):
    id = serializers.CharField()
    content = serializers.CharField()
    score = serializers.FloatField()
    gradeResult = DocumentGradeSerializer()
    metadata = GradedMetadataSerializer()


class RetrievalSerializer(Output):
    totalDocuments = serializers.IntegerField()
    filteredDocuments = serializers.IntegerField(help_text="Those that passed.")
    documents = GradedDocumentSerializer(many=True)


class GraderResultSerializer(Output):
    passRate = serializers.FloatField()
    passCount = serializers.IntegerField()
    totalCount = serializers.IntegerField()
    shouldRewrite = serializers.BooleanField()
    reasoning = serializers.CharField()
    documentGrades = NamedGradeSerializer(many=True)


class NodeInputSerializer(Output):
    query = serializers.CharField()


class NodeOutputSerializer(Output):
    summary = serializers.CharField()


class NodeExecutionSerializer(Output):
    """One run of a node of the graph. Its times count from the beginning of the answer."""

    node = serializers.CharField()
    status = serializers.ChoiceField(("completed", "skipped", "error"))
    startTime = serializers.IntegerField()
    endTime = serializers.IntegerField()
    duration = serializers.IntegerField()
    input = NodeInputSerializer()
    output = NodeOutputSerializer()
    error = serializers.CharField(required=False)


class WorkflowSerializer(Output):
    nodeExecutions = NodeExecutionSerializer(many=True)
    decisionPath = serializers.ListField(child=serializers.CharField())
    totalDuration = serializers.IntegerField()


class SelfCorrectiveAnswerSerializer(Output):
    """graderResult: of the last search; null where nothing was searched for."""

    success = serializers.BooleanField()
    answer = serializers.CharField()
    decision = serializers.CharField(allow_null=True)
    query = SearchedQuerySerializer()
    rewriteHistory = RewriteSerializer(many=True)
    retrieval = RetrievalSerializer()
    graderResult = GraderResultSerializer(allow_null=True)
    workflow = WorkflowSerializer()
    sessionId = serializers.UUIDField()
    messageId = serializers.UUIDField()
