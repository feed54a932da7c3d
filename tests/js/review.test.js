// The review desk's scripts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { site } from "./site.js";

const { passageTable, place, tickWidth } = await site("review/timeline.js");
const { labelsIn } = await site("review/marking.js");

test("a time scale has few ticks at round times", () => {
  for (const [total, width] of [[900, 200], [1, 0.2], [35_000, 10_000], [61_000, 20_000]]) assert.equal(tickWidth(total), width);
});

test("a span lies within the scale, and can be seen however short it is", () => {
  assert.deepEqual(place(500, 250, 1000), { from: 50, width: 25 });
  const last = place(1000, 0, 1000);
  assert.ok(last.width > 0 && last.from + last.width <= 100);
});

test("candidates are a table of ranks and scores by leg", () => {
  const rows = [{ chunk_id: "abcdefghijk", ranks: { bm25: 1 }, scores: { final: 0.5 } }, { chunk_id: "x", ranks: { dense: 2 }, scores: {} }];
  const [head, body] = passageTable("candidates", rows);
  assert.deepEqual(head, ["Passage", "Final score", "Rank, Words", "Rank, Meaning"]);
  assert.deepEqual(body, [["abcdefgh", 0.5, 1, undefined], ["x", undefined, undefined, 2]]);
});

test("details of another shape stay as they are", () => {
  for (const [key, value] of [["candidates", 10], ["scores", [0.1]], ["boosts", null], ["queries", []], ["candidates", [{}]]]) {
    assert.equal(passageTable(key, value), null);
  }
});

test("labels are read from one line, each once", () => {
  assert.deepEqual(labelsIn(" hr, old，hr;  ,新 "), ["hr", "old", "新"]);
});
