// The documents page: what is uploaded, and what collections and documents are called.
import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";
import { element, freshPage, settled } from "./page.js";
import { site } from "./site.js";

const { Uploads } = await site("documents/uploads.js");
const { Collections, isUnapproved, wantsReembedding } = await site("documents/collections.js");
const { lookForModel } = await site("document_tasks.js");
const { documentOptions, documentTasks, isWorking, statusBadge } = await site("documents/document_row.js");

/** Uploads whose calls are answered by the test: `sent[i].answer(status, body)`. */
function uploads({ files = 3, ready = Promise.resolve() } = {}) {
  const sent = [];
  globalThis.XMLHttpRequest = class extends EventTarget {
    upload = new EventTarget();

    open() {}

    setRequestHeader() {}

    getResponseHeader() {
      return null;
    }

    send(form) {
      sent.push({ form, upload: this.upload, answer: async (status, body) => {
        Object.assign(this, { status, responseText: JSON.stringify(body) });
        this.dispatchEvent(new Event(status ? "load" : "error"));
        await settled();
      } });
    }
  };
  const list = element("ul");
  const onStored = mock.fn();
  const onAllRead = mock.fn();
  const summary = element("p");
  const input = element("input");
  const queue = new Uploads({
    ready, input, list, summary, accept: [".pdf", ".txt"], limits: { file_bytes: 2 * 1048576, files },
    target: () => ({ collection: "policies", tags: "" }), onStored, onAllRead,
  });
  return { queue, input, sent, list, summary, onStored, onAllRead };
}
const file = (name) => new File(["x"], name);
const names = (sent) => sent.map(({ form }) => form.get("file").name);
const added = (outcome = "added", error = "") => ({ documents: [{ id: "1", outcome, error }] });

beforeEach(() => freshPage());

describe("files that are not sent", () => {
  const KIND = "This kind of file cannot be read. Use pdf, txt.";
  const cases = [
    ["a.pdf", 10, null],
    ["A.PDF", 10, null],
    ["a.tar.txt", 10, null],
    ["a.exe", 10, KIND],
    ["pdf", 10, KIND],
    ["a.pdf", 0, "The file is empty."],
    ["a.pdf", 2 * 1048576, null],
    ["a.pdf", 2 * 1048576 + 1, "Larger than 2 MiB; split it."],
  ];
  for (const [name, size, problem] of cases) {
    test(`${name}, ${size} bytes: ${problem}`, () => assert.equal(uploads().queue.refuse({ name, size }), problem));
  }
});

describe("uploading", () => {
  test("begins when it is known where to", async () => {
    let know;
    const { input, sent } = uploads({ ready: new Promise((resolve) => (know = resolve)) });
    input.files = [file("a.txt")];
    input.dispatchEvent(new Event("change"));
    await settled();
    assert.equal(sent.length, 0);
    know();
    await settled();
    assert.deepEqual(names(sent), ["a.txt"]);
  });
  test("sends two at once, the others one by one", async () => {
    const { queue, sent } = uploads();
    queue.add(["a.txt", "b.txt", "c.txt"].map(file));
    assert.deepEqual(names(sent), ["a.txt", "b.txt"]);
    await sent[0].answer(202, added());
    assert.deepEqual(names(sent), ["a.txt", "b.txt", "c.txt"]);
  });
  test("takes no more files than the limit, and says so", () => {
    const { queue, list } = uploads({ files: 1 });
    queue.add(["a.txt", "b.txt"].map(file));
    assert.equal(list.childElementCount, 1);
    assert.match(document.getElementById("toasts").textContent, /At most 1 files/);
  });
  for (const [outcome, note] of [["added", "Uploaded"], ["unchanged", "Already there"], ["retried", "Reading it again"]]) {
    test(`says what became of it: ${outcome}`, async () => {
      const { queue, sent, list, onStored } = uploads();
      queue.add([file("a.txt")]);
      await sent[0].answer(202, added(outcome));
      assert.match(list.textContent, new RegExp(note));
      assert.equal(onStored.mock.callCount(), 1);
    });
  }
  test("of several, a line says what became of them until all are read", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { queue, sent, summary, onAllRead } = uploads();
    queue.add(["a.txt", "b.txt", "c.exe"].map(file));
    assert.equal(summary.textContent, "2 being read, 1 could not be read");
    await sent[0].answer(202, { documents: [{ id: "1", outcome: "added", status: "waiting", error: "" }] });
    await sent[1].answer(202, { documents: [{ id: "2", outcome: "unchanged", status: "ready", error: "" }] });
    assert.equal(summary.textContent, "1 ready, 1 being read, 1 could not be read");
    t.mock.method(globalThis, "fetch", async () => Response.json({ id: "1", status: "ready" }));
    t.mock.timers.tick(1200);
    await settled();
    assert.equal(summary.textContent, "2 ready, 1 could not be read");
    assert.deepEqual(onAllRead.mock.calls.map((call) => call.arguments), [["2 ready, 1 could not be read"]]);
  });
  test("a file that the site refused says why and is not stored", async () => {
    const { queue, sent, list, onStored } = uploads();
    queue.add([file("a.txt")]);
    await sent[0].answer(202, added("refused", "It has a password."));
    assert.match(list.textContent, /It has a password\./);
    assert.equal(onStored.mock.callCount(), 0);
  });
  const again = (list) => list.querySelectorAll("button").find((button) => button.textContent === "Try again");
  for (const [status, offered] of [[0, true], [429, true], [503, true], [413, false], [415, false]]) {
    test(`after ${status || "a broken connection"} trying again is ${offered ? "offered" : "of no use"}`, async () => {
      const { queue, sent, list } = uploads();
      queue.add([file("a.txt")]);
      await sent[0].answer(status, { error: { code: "x", message: "x" } });
      assert.equal(again(list) !== undefined, offered);
    });
  }
  test("is tried again with the same file and fields", async () => {
    const { queue, sent, list } = uploads();
    queue.add([file("a.txt")]);
    await sent[0].answer(503, {});
    again(list).click();
    assert.deepEqual(names(sent), ["a.txt", "a.txt"]);
    assert.equal(sent[1].form.get("collection"), "policies");
    assert.equal(list.childElementCount, 1);
  });
});

describe("a collection", () => {
  const row = { id: "1", name: "policies", visibility: "public", approved: false, embedding_model: "use-multilingual-v3", groups: [], editor_groups: [], people: [], document_count: 0 };
  test("is unapproved when it is public and the site has not approved it", () => {
    assert.deepEqual([row, { ...row, approved: true }, { ...row, visibility: "private" }, undefined].map(isUnapproved), [true, false, false, false]);
  });
  for (const [name, collection, models, wanted] of [
    ["made without a model, with one there now", row, { embed_model: "e" }, true],
    ["made without a model, and none is there", row, { embed_model: "" }, false],
    ["made with a model", { ...row, embedding_model: "e" }, { embed_model: "e" }, false],
    ["empty", { ...row, embedding_model: "" }, { embed_model: "e" }, false],
    ["none chosen", undefined, { embed_model: "e" }, false],
    ["the models are not known yet", row, null, false],
  ]) test(`wants embedding anew: ${name}: ${wanted}`, () => assert.equal(wantsReembedding(collection, models), wanted));
});

describe("a document", () => {
  const row = { id: "1", title: "Leave", status: "ready", progress: 0, page_count: 2, chunk_count: 1 };
  const cases = [
    [{}, "2 pages · 1 passage", false],
    [{ page_count: null, chunk_count: 0 }, "Ready", false],
    [{ status: "failed" }, "Could not be read", false],
    [{ status: "queued" }, "Waiting for its turn", true],
    [{ status: "parsing" }, "Reading", true],
    [{ status: "embedding", progress: 0.426 }, "Indexing 43 %", true],
  ];
  for (const [changes, text, working] of cases) {
    test(`${changes.status ?? "ready"}: ${text}`, () => {
      assert.equal(statusBadge({ ...row, ...changes }).textContent, text);
      assert.equal(isWorking({ ...row, ...changes }), working);
    });
  }
  test("may be changed only by those who may write in its collection", () => {
    const labels = (writable) => documentOptions(row, { writable, on: {} }).filter(Boolean).map(({ label }) => label).slice(3);
    assert.deepEqual(labels(false), ["Open the document", "Download the file"]);
    assert.deepEqual(labels(true), ["Open the document", "Download the file", "Edit details", "Replace by a new version…", "Read again", "Delete"]);
  });
  test("can be asked once it is ready, and a replaced one only as a whole", () => {
    const addresses = (changes) => documentTasks({ ...row, ...changes }).map(({ href }) => href);
    assert.deepEqual(addresses({}), ["/?documents=1", "/?documents=1&task=summarise", "/?documents=1&task=list"]);
    assert.deepEqual(addresses({ superseded: true }), ["/?documents=1&task=summarise", "/?documents=1&task=list"]);
    assert.deepEqual(addresses({ status: "parsing" }), []);
  });
  test("says what cannot be asked without a model", async () => {
    const problems = () => documentTasks(row).map(({ problem }) => problem ?? "");
    const online = (value) => mock.method(globalThis, "fetch", async () => ({ ok: true, status: 200, headers: new Headers({ "content-type": "application/json" }), json: async () => ({ online: value }), text: async () => JSON.stringify({ online: value }) }));
    online(false);
    await lookForModel();
    assert.deepEqual(problems(), ["", "", "Needs an AI model; none is connected."]);
    online(true);
    await lookForModel();
    assert.deepEqual(problems(), ["", "", ""]);
    mock.restoreAll();
  });
});
