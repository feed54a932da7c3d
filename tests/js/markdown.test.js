import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { markup } from "./page.js";
import { site } from "./site.js";

const { blocksOf } = await site("chat/markdown.js");
/** tests/chat/test_markdown_cases.py holds the server to the same. */
const CASES = JSON.parse(readFileSync(new URL("../markdown_cases.json", import.meta.url), "utf8")).filter(({ text }) => !/[$]|\\[[(]/.test(text)); // formulas are the server's
const BLOCKS = "p|ul|ol|li|table|thead|tbody|tr|th|td|blockquote|pre|h[1-6]|hr|div";

const html = (blocks) => blocks.map(({ draw }) => markup(draw())).join("");
const shown = (text) => text.replaceAll(new RegExp(`\n*(</?(?:${BLOCKS})>)\n*`, "g"), "$1").replaceAll("</br>\n", "</br>");
const drawn = (text) => shown(html(blocksOf(text, (marker) => [1, 12].includes(marker))));

describe("an answer is drawn as the server renders it", () => {
  for (const { name, text, html: expected } of CASES) test(name, () => assert.equal(drawn(text), expected));
});

test("what is hostile takes no long time", () => {
  for (const text of ["$".repeat(50_000), "\\(".repeat(30_000), "\\[\n".repeat(20_000), "$x^".repeat(30_000), "> ".repeat(5000), "😀".repeat(10_000)]) {
    const began = performance.now();
    blocksOf(text, () => false);
    assert.ok(performance.now() - began < 5000, text.slice(0, 4));
  }
});

test("addresses lead to the web or to a mailbox alone", () => {
  const [link] = blocksOf("[a](https://x.test) [b](ftp://x.test) [c](/admin/)", () => false)[0].draw().children;
  assert.equal(link.getAttribute("href"), "https://x.test");
  const others = blocksOf("[b](ftp://x.test) [c](/admin/)", () => false)[0].draw().children;
  assert.deepEqual(others.map((other) => other.getAttribute("href")), [null, null]);
});
