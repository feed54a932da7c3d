import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { element, frames, freshPage, markup } from "./page.js";
import { site } from "./site.js";

const { drawPassage, splitBlocks, StreamText } = await site("chat/stream_text.js");

beforeEach(() => freshPage());

/** An answer's text as it is drawn when it comes in these pieces, each on a frame of its own. */
function drawn(...pieces) {
  const prose = element("div");
  const stream = new StreamText(prose);
  for (const piece of pieces) {
    stream.push(piece);
    frames.draw();
  }
  return prose.children.map(markup).join("");
}

describe("blocks", () => {
  const cases = [
    ["nothing", "", []],
    ["blank lines part", "a\nb\n\n \nc", [["a", "b"], ["c"]]],
    ["fenced code is whole", "a\n```py\nx\n\ny\n```\nb", [["a"], ["```py", "x", "", "y", "```"], ["b"]]],
    ["a fence that is still open", "```\nx\n\ny", [["```", "x", "", "y"]]],
  ];
  for (const [name, text, blocks] of cases) test(name, () => assert.deepEqual(splitBlocks(text), blocks));
});

describe("an answer's text", () => {
  const cases = [
    ["a paragraph", "one\ntwo", "<p>one\ntwo</p>"],
    ["no HTML", "<img src=x onerror=alert(1)> [1](javascript:x)", "<p>&lt;img src=x onerror=alert(1)> <a>1</a>(javascript:x)</p>"],
    ["words", "**bold** *soft* `code *not soft*`", "<p><strong>bold</strong> <em>soft</em> <code>code *not soft*</code></p>"],
    ["a link is its label", "see [here](https://x.test)", "<p>see here</p>"],
    ["a citation", "so [12].", "<p>so <a>12</a>.</p>"],
    ["a number that is none", "in [2024]", "<p>in [2024]</p>"],
    ["a heading", "## Leave", "<h2>Leave</h2>"],
    ["a heading above its paragraph", "## Leave\n30 days", "<div><h2>Leave</h2><p>30 days</p></div>"],
    ["a quote", "> a\n> b", "<blockquote>a\nb</blockquote>"],
    ["a list", "- a\n  more\n- b", "<ul><li>a\nmore</li><li>b</li></ul>"],
    ["a numbered list", "3. a\n4) b", "<ol><li>a</li><li>b</li></ol>"],
    ["code", "```\n**x**\n```", "<pre><code>**x**</code></pre>"],
    ["a table", "| a | b |\n|---|---|\n| 1 | **2** |", "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>"],
    ["a table without its rule is a paragraph", "| a |\n| b |", "<p>| a |\n| b |</p>"],
  ];
  for (const [name, text, html] of cases) test(name, () => assert.equal(drawn(text), html));

  test("looks the same however it was cut", () => {
    const text = cases.map(([, words]) => words).join("\n\n");
    const whole = drawn(text);
    for (let cut = 1; cut < text.length; cut += 1) assert.equal(drawn(text.slice(0, cut), text.slice(cut)), whole);
  });
  test("in one piece per character looks like the whole", () => {
    const text = cases.map(([, words]) => words).join("\n\n");
    assert.equal(drawn(...text), drawn(text));
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
  test("leaves finished blocks as they are", () => {
    const prose = element("div");
    const stream = new StreamText(prose);
    stream.push("one\n\ntwo");
    frames.draw();
    const [first] = prose.children;
    stream.push(" three\n\nfour");
    frames.draw();
    assert.equal(prose.children[0], first);
    assert.equal(markup(prose), "<div><p>one</p><p>two three</p><p>four</p></div>");
  });
  test("stops when the answer has ended", () => {
    const prose = element("div");
    const stream = new StreamText(prose);
    stream.push("a");
    stream.stop();
    frames.draw();
    assert.equal(prose.childElementCount, 0);
  });
  test("starts anew", () => {
    const prose = element("div");
    const stream = new StreamText(prose);
    stream.push("old");
    frames.draw();
    stream.reset();
    stream.push("new");
    frames.draw();
    assert.equal(markup(prose), "<div><p>new</p></div>");
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
