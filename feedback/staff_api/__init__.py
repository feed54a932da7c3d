"""What staff see and decide over HTTP, under `/api/feedback/`: 401 for strangers, 403 for users.

base        who may, paging, `why`
revisions   revisions, the switch of them, freeze, resets, the log
evidence    why a document is up: boosts, votes, boosts by hand
golden      golden questions, one by one and as JSONL
review      bursts and knowledge gaps
"""
