"""Grounding: which passages support a sentence of an answer, whatever the model cited, and how far they do.

- `overlap`: how much of a statement a passage holds, and where. Words are compared as the index has them (stems;
  Traditional Chinese as Simplified), numbers by their value (`retrieval.engine.text.numbers`).
- `alignment`: the passages that a sentence cites.
- `citation_stream`: the citations of an answer that is being written.
- `claims`, `support`, `verify`: the sentences of a whole answer, held against the passages that they cite; weak ones
  are marked. See docs/decisions/0005-grounding.md.

A word that the question holds already weighs little: what a sentence adds is what must stand in the passage; in
choosing among passages the question's words are context, so that a short answer ("EUR 55.") finds the sentence that was
asked for.
"""
