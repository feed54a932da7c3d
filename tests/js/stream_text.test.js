import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, describe, test } from "node:test";
import { element, frames, freshPage, markup } from "./page.js";
import { site } from "./site.js";

const { drawPassage, loadMarkdown, StreamText } = await site("chat/stream_text.js");
await loadMarkdown();

beforeEach(() => freshPage());

/** An answer's text as it is drawn when it comes in these pieces, each on a frame of its own. */
function drawn(...pieces) {
  const prose = element("div");
  const stream = new StreamText(prose);
  for (const piece of pieces) {
    stream.push(piece);
    frames.draw();
  }
  while (frames.waiting.size) frames.draw();
  return prose.children.map(markup).join("");
}

describe("an answer's text", () => {
  test("looks the same however it was cut", () => {
    const cases = JSON.parse(readFileSync(new URL("../markdown_cases.json", import.meta.url), "utf8"));
    const text = cases.filter(({ name }) => !name.includes("open")).map((one) => one.text).join("\n\n");
    assert.equal(drawn(...text), drawn(text));
  });
  test("a number is a citation where there is such a source", () => {
    const prose = element("div");
    const stream = new StreamText(prose);
    stream.hasSource = (marker) => marker === 1;
    stream.push("so [1], so [2]");
    frames.draw();
    assert.equal(markup(prose), "<div><p>so\u00a0<a>1</a>, so [2]</p></div>");
  });
  test("code gets its language and a button, tables a frame that the keyboard reaches", () => {
    const prose = element("div");
    const stream = new StreamText(prose);
    stream.push("```py\nx\n```\n\n|a|\n|-|");
    frames.draw();
    assert.equal(prose.querySelector(".code-head span").textContent, "py");
    assert.equal(prose.querySelector(".code-frame button").getAttribute("aria-label"), "Copy the code");
    assert.equal(prose.querySelector("pre").getAttribute("tabindex"), "0");
    assert.equal(prose.querySelector(".table-frame").getAttribute("tabindex"), "0");
  });
});

describe("drawing as it grows", () => {
  test("waits for a frame, and takes all pieces at once", () => {
    const prose = element("div");
    const stream = new StreamText(prose);
    stream.push("a");
    stream.push("b");
    assert.equal(prose.childElementCount, 0);
    frames.draw();
    assert.equal(markup(prose), "<div><p>ab</p></div>");
  });
  test("ends when it is stopped, though the parser comes only then", async () => {
    const late = await site("chat/stream_text.js?late"); // a module of its own, without the parser
    const prose = element("div");
    const stream = new late.StreamText(prose);
    stream.push("so [1]");
    frames.draw();
    stream.stop();
    prose.append("as it is stored");
    await late.loadMarkdown();
    while (frames.waiting.size) frames.draw();
    assert.equal(markup(prose), "<div>as it is stored</div>");
  });
});

describe("a passage of a document", () => {
  const cases = [
    ["its own brackets and stars stay", "see [1] and *this*", "<p>see [1] and *this*</p>"],
    ["bold is bold", "**Note** this", "<p><strong>Note</strong> this</p>"],
    ["headings and lists", "# A\n\n- b", "<h1>A</h1><ul><li>b</li></ul>"],
  ];
  for (const [name, text, html] of cases) test(name, () => assert.equal(drawPassage(text).map(markup).join(""), html));
});
