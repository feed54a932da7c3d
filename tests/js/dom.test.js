import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { element, freshPage, markup } from "./page.js";
import { site } from "./site.js";

const { bytes, h, query, seconds, store } = await site("dom.js");

beforeEach(() => freshPage());

describe("words for numbers", () => {
  const cases = [
    [seconds(null), ""],
    [seconds(0), "0 ms"],
    [seconds(999), "999 ms"],
    [seconds(1500), "1.5 s"],
    [seconds(61_000), "1 min 1 s"],
    [bytes(0), ""],
    [bytes(999), "999 B"],
    [bytes(1500), "1.5 kB"],
    [bytes(20_000_000), "20 MB"],
    [bytes(3e13), "30000 GB"],
  ];
  for (const [said, wanted] of cases) test(wanted || "nothing", () => assert.equal(said, wanted));
});

describe("building", () => {
  test("text stays text, whatever it says", () => {
    assert.equal(markup(h("p", {}, "<b>", h("em", {}, "&"))), "<p>&lt;b><em>&amp;</em></p>");
  });
});

describe("finding", () => {
  test("an element that the page does not have is an error that names it", () => {
    assert.throws(() => query(document, ".missing"), { name: "TypeError", message: /\.missing/ });
  });
});

describe("what the browser keeps", () => {
  test("is kept under the site's name, and an empty value is taken out", () => {
    store.set("draft.new", "half a question");
    assert.equal(localStorage.getItem("ragsite.draft.new"), "half a question");
    store.set("draft.new", "");
    assert.equal(store.get("draft.new"), null);
  });
});
