// Where the evidence of a statement stands: which texts, their marks in the passage, and the page of a PDF.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { freshPage, serve, settled } from "./page.js";
import { site } from "./site.js";

const { citedAt, hasPage, quotesFor } = await site("chat/evidence.js");
const { documentFigure } = await site("documents/content.js");
const { markQuotes, markTexts } = await site("marks.js");
const { h } = await site("dom.js");
const { drawPassage, loadMarkdown } = await site("chat/stream_text.js");
await loadMarkdown();

beforeEach(() => freshPage());

describe("the texts that bear a statement out", () => {
  const source = { marker: 1, text: "Loans last four weeks. Fines are 20 cents a day. Nothing else." };
  const message = {
    answer: "Four weeks [1]. A fine of 20 cents [1].",
    grounding: [
      { start: 0, end: 15, evidence: [{ marker: 1, start: 0, end: 22 }] },
      { start: 16, end: 39, evidence: [{ marker: 1, start: 23, end: 48 }, { marker: 2, start: 0, end: 4 }] },
    ],
  };
  test("are those of the sentence that was clicked", () => {
    const [first, second] = citedAt(message.answer, 1);
    assert.deepEqual(quotesFor(message, source, first), ["Loans last four weeks."]);
    assert.deepEqual(quotesFor(message, source, second), ["Fines are 20 cents a day."]);
  });
  for (const [said, rows] of [
    ["Equipment 12 costs 120.", ["Name: Equipment 12; Amount: 120"]],
    ["Everything has a price.", ["Name | Amount\nName: Equipment 1; Amount: 10\nName: Equipment 12; Amount: 120"]],
  ]) {
    test(`are of a table's rows those that say it, else all: ${said}`, () => {
      const text = "Name | Amount\nName: Equipment 1; Amount: 10\nName: Equipment 12; Amount: 120";
      const grounding = [{ start: 0, end: said.length, evidence: [{ marker: 1, start: 0, end: text.length }] }];
      assert.deepEqual(quotesFor({ answer: `${said} [1]`, grounding }, { marker: 1, text }), rows);
    });
  }
  test("are what an answer without a model quotes, where the server found it", () => {
    const quoting = { answer: "From the rules:\n\n- Fines are 20 cents a day. [1]", grounding: [] };
    assert.deepEqual(quotesFor(quoting, { ...source, spans: [{ page: null, boxes: [], start: 23, end: 48 }] }, 50), ["Fines are 20 cents a day."]);
  });
});

describe("marks in a passage", () => {
  const marked = (text, quotes) => {
    const root = h("div", {}, drawPassage(text));
    const first = markTexts(root, quotes);
    return { root, first, marks: [...root.querySelectorAll("mark")].map((mark) => mark.textContent) };
  };
  test("stand at the text, whatever its markup and lines", () => {
    const { root, first, marks } = marked("Before. Loans last **four** weeks,\nnot more. After.", ["Loans last four weeks, not more."]);
    assert.equal(marks.join("").replace(/\s+/g, " "), "Loans last four weeks, not more");
    assert.equal(first.textContent, "Loans last ");
    assert.equal(root.textContent.replace(/\s+/g, " "), "Before. Loans last four weeks, not more. After.");
  });
  test("reach over rows of a table", () => {
    const { marks } = marked("| Item | Fine |\n| --- | --- |\n| Book | 20 cents |", ["Book 20 cents"]);
    assert.deepEqual(marks, ["Book", "20 cents"]);
  });
  test("are found in Chinese", () => assert.deepEqual(marked("借期为四周。逾期每天罚款两角。", ["逾期每天罚款两角"]).marks, ["逾期每天罚款两角"]));
  for (const quote of ["", "20", "Masters may borrow forty journals"]) {
    test(`are none for “${quote}”`, () => {
      const { first, root } = marked("Fines are 20 cents a day.", [quote]);
      assert.equal(first, null);
      assert.equal(root.textContent, "Fines are 20 cents a day.");
    });
  }
});

describe("a document as it looks", () => {
  const page = { part: 2, part_count: 4, page: 2, width: 600, height: 800, html: "", chunks: [], marks: [[0.1, 0.2, 0.6, 0.22]] };
  const pdf = { id: "d", title: "Guide", isPdf: true };
  const content = "GET /api/documents/d/content?chunk=c&quote=Four+weeks.";
  test("is a page for sources in a PDF alone", () => {
    const source = { kind: "document", page: 2, file_name: "guide.PDF" };
    assert.deepEqual([hasPage(source), hasPage({ ...source, file_name: "a.docx" }), hasPage({ ...source, page: null }), hasPage({ ...source, kind: "web" })], [true, false, false, false]);
  });
  test("of a PDF shows its page's picture with the text marked", async () => {
    serve({ [content]: page });
    const figure = documentFigure(pdf, { chunk: "c", quotes: ["Four\nweeks."] });
    await settled();
    assert.match(figure.querySelector("img").getAttribute("src"), /^\/api\/documents\/d\/pages\/2\/picture\?width=\d+$/);
    assert.equal(figure.querySelector("img").getAttribute("alt"), "Page 2 of Guide");
    assert.equal(figure.querySelectorAll(".page-mark")[0].style.left, "10.000%");
    assert.match(figure.textContent, /Page 2 of 4/);
  });
  test("of another kind opens at the part that holds the text, with a way to the others", async () => {
    const part = { ...page, page: null, part: 3 };
    const calls = serve({ [content]: part, "GET /api/documents/d/content?part=4": { ...part, part: 4 } });
    const figure = documentFigure({ ...pdf, isPdf: false }, { chunk: "c", quotes: ["Four weeks."] });
    await settled();
    assert.match(figure.textContent, /Part 3 of 4/);
    figure.querySelectorAll("button")[1].click();
    await settled();
    assert.match(figure.textContent, /Part 4 of 4/);
    assert.equal(calls.length, 2);
  });
  test("of a presentation names its slide", async () => {
    serve({ [content]: { ...page, part: 3, page: 5, width: null, height: null } });
    const figure = documentFigure({ ...pdf, isPdf: false }, { chunk: "c", quotes: ["Four weeks."] });
    await settled();
    assert.match(figure.textContent, /Slide 5/);
  });
  test("that may not be read any more leaves the passage, and says why", async () => {
    serve({ [content]: [404, { error: { code: "not_found", message: "There is no such document." } }] });
    const figure = documentFigure(pdf, { chunk: "c", quotes: ["Four weeks."], instead: () => h("blockquote", {}, "Four weeks.") });
    await settled();
    assert.match(figure.textContent, /There is no such document\.Four weeks\./);
  });
});

describe("a quotation in a rendered document", () => {
  const row = (...cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell)));
  const table = () => h("div", {}, h("table", {}, h("tbody", {}, row("Guests", "9", ""), row("Staff members", "5", "Monday"))));
  test("is found as the row of a table that it was read from", () => {
    const part = table();
    assert.equal(markQuotes(part, ["Group: Staff members; Fee: 5; Open: Monday"])?.textContent, "Staff members");
    assert.deepEqual([...part.querySelectorAll("mark")].map((mark) => mark.textContent), ["Staff members", "5", "Monday"]);
  });
});
