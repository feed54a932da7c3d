// The review desk's scripts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { site } from "./site.js";

const { passageTable, tickWidth } = await site("review/timeline.js");

test("a time scale has few ticks at round times", () => {
  for (const [total, width] of [[900, 200], [1, 0.2], [35_000, 10_000], [61_000, 20_000]]) assert.equal(tickWidth(total), width);
});

test("candidates are a table of ranks and scores by leg", () => {
  const rows = [{ chunk_id: "abcdefghijk", ranks: { bm25: 1 }, scores: { final: 0.5 } }, { chunk_id: "x", ranks: { dense: 2 }, scores: {} }];
  const [head, body] = passageTable("candidates", rows);
  assert.deepEqual(head, ["Passage", "Final score", "Rank, Words", "Rank, Meaning"]);
  assert.deepEqual(body, [["abcdefgh", 0.5, 1, undefined], ["x", undefined, undefined, 2]]);
});
