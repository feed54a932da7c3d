// The parts of the chat page: an answer, its path, plan and sources, the composer, the list of conversations, the banner.
import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";
import { element, frames, freshPage, serve, settled } from "./page.js";
import { site } from "./site.js";

const { rewritingOf } = await site("chat/again.js");
const { Answer } = await site("chat/answer.js");
const { Composer } = await site("chat/composer.js");
const { decisionPath, passageTable } = await site("chat/path.js");
const { isWeb, placeIn, sectionIn } = await site("chat/places.js");
const { planTasks } = await site("chat/plan.js");
const { scoreShare } = await site("chat/scores.js");
const { SessionList } = await site("chat/sessions.js");
const { loadMarkdown } = await site("chat/stream_text.js");
const { watchStatus } = await site("chat/status.js");
const { Temporary } = await site("chat/temporary.js");
await loadMarkdown();
await site("chat/ask_owner.js");

const step = (changes) => ({ seq: 1, name: "retrieve", status: "ok", summary: "", started_ms: 0, duration_ms: 10, detail: {}, ...changes });

const WORDS = { after_steps: { hyde: "Searching the documents" }, tools: { web_search: "Searching the web" } };

beforeEach(() => {
  freshPage();
  element("script", { id: "boot" }).textContent = JSON.stringify({ words: WORDS });
});

describe("an answer", () => {
  const source = { marker: 1, kind: "document", title: "Leave", heading: "Leave › Days", page: 3, text: "30 days.", url: "", cited: true, scores: {} };
  const message = {
    role: "assistant", session_id: "s", message_id: "m", status: "complete", decision: "ANSWER", answer: "30 days [1].", html: "", sources: [source],
    decision_path: [step({})], usage: { total_ms: 1500 }, degraded: [], grounding: [], clarification: null, error: null, rating: null, model: "qwen3:4b", found: ["Searched 3 documents"], offers: [],
  };
  const made = () => {
    const on = { source: mock.fn(), option: mock.fn(), regenerate: mock.fn(), goOn: mock.fn(), showVersion: mock.fn(), retry: mock.fn() };
    return { answer: new Answer(on, "u"), on };
  };
  const overdue = { document_id: "d", added_at: "2024-03-12T10:00:00Z", version: 1, replaced: false, review_due: "2026-03-12", overdue: true };
  const finished = (changes) => {
    const { answer, on } = made();
    answer.finish({ ...message, ...changes });
    return { answer, on, after: answer.after.textContent, status: answer.status.textContent };
  };
  for (const [changes, offered] of [
    [{ offers: ["ask_owner"] }, true],
    [{ offers: ["count"], decision: "NO_ANSWER" }, false],
    [{ offers: ["ask_owner"], sent_request: "withdrawn" }, true],
    [{ offers: [], sent_request: "withdrawn" }, false],
    [{ offers: ["ask_owner"], sent_request: "open" }, false],
  ]) test(`a person is ${offered ? "" : "not "}offered for ${JSON.stringify(changes)}`, () => {
    assert.equal(finished(changes).after.includes("Ask the owner"), offered);
  });
  for (const [changes, offered] of [[{ offers: ["count"] }, true], [{ offers: ["count"], decision: "NO_ANSWER" }, true], [{ offers: ["ask_owner"] }, false]]) {
    test(`a count is ${offered ? "" : "not "}offered for ${JSON.stringify(changes)}`, () => {
      const { answer, on } = finished(changes);
      const label = "Count over all documents";
      const button = [...answer.after.querySelectorAll("button")].find((one) => one.textContent === label || one.getAttribute("aria-label") === label);
      assert.equal(Boolean(button), offered);
      button?.click();
      assert.deepEqual(on.regenerate.mock.calls.map((call) => call.arguments[1]), offered ? [{ task: "count" }] : []);
    });
  }
  test("one more thing to do about what went wrong stands beside trying again", () => {
    const { answer, on } = made();
    const act = mock.fn();
    answer.fail("Its collection was withdrawn.");
    answer.offer("Ask without the assistant", act);
    const buttons = [...answer.after.querySelectorAll("button")];
    assert.deepEqual(buttons.map((button) => button.textContent), ["Ask without the assistant", "Try again"]);
    for (const button of buttons) button.click();
    assert.deepEqual([act.mock.callCount(), on.retry.mock.callCount()], [1, 1]);
  });
  test("what is asked again is the answer that was to be written again, and else a first question", () => {
    const { answer } = made();
    assert.equal(rewritingOf(answer), null);
    answer.rewrites = { id: "before", request: { options: { route: false } } };
    assert.deepEqual(rewritingOf(answer, { assistant: "" }), { id: "before", request: { options: { route: false }, assistant: "" } });
    answer.id = "new"; // it began, and failed then
    assert.deepEqual(rewritingOf(answer), { id: "new", request: {} });
  });
  test("says who wrote it, and that a passage is not shown", () => {
    const { after } = finished({ answer: "30 days [1], 31 for staff [2].", written_by: { by: "mei", on: "2026-11-28" } });
    assert.match(after, /Answered by mei on 28 Nov 2026\.1 cited passage is not shown/);
  });
  test("sends the question with a remark, and takes it back", async () => {
    Object.assign(HTMLElement.prototype, { showModal() {}, close() { this.remove(); } });
    const request = { id: "r", state: "open", collection: "mei/campus", note: "", sent_at: "2026-11-28T10:00:00Z", ended_at: null, ended_by: null, reply: "" };
    const calls = serve({
      "GET /api/messages/m/ask-owner": { request: null, to: [{ sent_to: "collection", collection: "mei/campus", owner: "mei", others: 0 }] },
      "POST /api/messages/m/ask-owner": request,
      "DELETE /api/requests/r": [204, null],
    });
    const { answer } = finished({ decision: "NO_ANSWER", offers: ["ask_owner"] });
    document.body.append(answer.element);
    const row = answer.element.querySelector(".ask-owner");
    row.querySelector("button").click();
    for (let turn = 0; turn < 20 && !document.querySelector(".ask-owner-form"); turn += 1) await settled();
    const form = document.querySelector(".ask-owner-form");
    assert.match(form.textContent, /It goes to mei, the owner of mei\/campus\./);
    form.querySelector("textarea").value = " For a guest. ";
    form.dispatchEvent(new Event("submit", { cancelable: true }));
    for (let turn = 0; turn < 20 && row.querySelector("button").textContent === "Ask the owner"; turn += 1) await settled();
    assert.match(row.textContent, /^Sent to the people of mei\/campus on 28 Nov 2026\./);
    row.querySelector("button").click();
    for (let turn = 0; turn < 20 && row.textContent !== "Ask the owner"; turn += 1) await settled();
    assert.equal(row.textContent, "Ask the owner");
    assert.deepEqual(calls.map(({ call, body }) => [call.split(" ")[0], body]), [["GET", undefined], ["POST", { remark: "For a guest.", to: "collection" }], ["DELETE", undefined]]);
  });
  for (const [event, status] of [
    [{ type: "reasoning", content: "searching the documents" }, "Searching the documents"],
    [{ type: "reasoning", content: "", step: step({ name: "hyde" }) }, "Searching the documents"],
    [{ type: "tool_call", content: "", tool: "web_search" }, "Searching the web"],
    [{ type: "reasoning", content: "1 query → 10 candidates", step: step({ name: "retrieve", detail: { candidates: Array(10).fill({}) } }) }, "Comparing 10 passages"],
    [{ type: "reasoning", content: "1 query → 1 candidate", step: step({ name: "retrieve", detail: { candidates: [{}] } }) }, "Comparing 1 passage"],
    [{ type: "reasoning", content: "REFINE: weak", step: step({ name: "assess", detail: { verdict: "REFINE" } }) }, "Looking further"],
    [{ type: "reasoning", content: "switched off", step: step({ name: "compress", status: "skipped" }) }, "Reading the question"],
    [{ type: "sources", sources: [source] }, "Writing from 1 passage"],
    [{ type: "sources", sources: [] }, "Writing"],
  ]) test(`while it is written: ${status}`, () => {
    const { answer } = made();
    answer.apply(event);
    assert.equal(answer.status.textContent, status);
  });
  test("offers questions that come next once it is done, which are asked at a click", () => {
    const { answer, on } = made();
    on.followUp = mock.fn();
    answer.finish({ ...message, follow_ups: ["Who grants leave?"] });
    const [button] = answer.after.querySelectorAll("button.follow-up");
    button.click();
    assert.deepEqual(on.followUp.mock.calls[0].arguments, ["Who grants leave?"]);
    answer.apply({ type: "follow_ups", message_id: "m", follow_ups: ["How do I apply?", "Is it paid?"] });
    assert.equal(answer.after.querySelectorAll("button.follow-up").length, 2);
  });
  test("offers none where nothing asks them, and none while it is written", () => {
    assert.equal(finished({ follow_ups: ["Who grants leave?"] }).answer.after.querySelector(".follow-ups"), null);
    const { answer, on } = made();
    on.followUp = mock.fn();
    answer.apply({ type: "follow_ups", message_id: "m", follow_ups: ["Is it paid?"] });
    assert.equal(answer.after.querySelector(".follow-ups"), null);
  });
  test("shows a plan until it is written", () => {
    const { answer } = made();
    answer.apply({ type: "tool_call", content: "plan", tool: "plan", step: step({ detail: { tasks: [{ id: "a", type: "rewrite", state: "done" }, { id: "b", type: "retrieve", state: "running" }] } }) });
    answer.apply({ type: "reasoning", content: "searching" });
    assert.equal(answer.status.querySelectorAll(".plan-task").length, 2);
    answer.apply({ type: "sources", sources: [] });
    assert.equal(answer.status.querySelectorAll(".plan-task").length, 0);
  });
  const fell = [{ step: "generate", reason: "Ollama stopped" }];
  for (const [how, changes] of [
    ["cut", { status: "cut", degraded: fell }],
    ["stopped", { status: "stopped" }],
    ["model", { status: "interrupted", degraded: fell }],
    ["interrupted", { status: "interrupted" }],
  ]) test(`that is not complete says why, looks like it, and can go on: ${how}`, () => {
    const { answer, on, after } = finished({ ...changes, status_reason: `Because of ${how}.` });
    assert.match(after, new RegExp(`Because of ${how}\\.`));
    assert.equal(answer.after.querySelectorAll(`.notice.is-${how}`).length, 1);
    answer.after.querySelector(".notice .primary").click();
    assert.deepEqual(on.goOn.mock.calls[0].arguments, [answer]);
  });
  test("has its versions beside it", () => {
    const { answer, on } = finished({ versions: ["old", "m"] });
    assert.match(answer.after.textContent, /2\/2/);
    const [before, after] = answer.after.querySelectorAll(".versions button");
    assert.deepEqual([before.disabled ?? false, after.disabled], [false, true]);
    before.click();
    assert.deepEqual(on.showVersion.mock.calls[0].arguments, ["old"]);
    assert.equal(finished({ versions: ["m"] }).answer.after.querySelectorAll(".versions").length, 0);
  });
  test("that is done is not drawn over", () => {
    const { answer } = made();
    answer.apply({ type: "chunk", content: "Half" });
    answer.apply({ type: "done", message });
    while (frames.waiting.size) frames.draw();
    assert.equal(answer.text.childElementCount, 0); // what the site has rendered is no element of the stand-in
  });
  test("that fails keeps what was written, says why, and offers to try again", () => {
    const { answer, on } = made();
    answer.apply({ type: "chunk", content: "Half" });
    answer.apply({ type: "error", code: "x", content: "The model is away." });
    frames.draw();
    assert.equal(answer.text.textContent, "Half");
    assert.match(answer.after.textContent, /The model is away\./);
    answer.after.querySelector("button").click();
    assert.equal(on.retry.mock.callCount(), 1);
  });
  for (const [changes, shown] of [
    [{}, ["Searched 3 documents", "All steps", 0]], [{ decision_path: [] }, ["Searched 3 documents", "", 0]], [{ found: undefined, decision_path: [] }, ["", "", 0]],
  ]) test(`how it was found, with its steps a click away: ${shown}`, () => {
    const { answer } = finished(changes);
    const parts = [".found", ".found-all"].map((part) => answer.status.querySelector(part)?.textContent ?? "");
    assert.deepEqual([...parts, answer.status.querySelectorAll(".path-step").length], shown);
  });
  for (const [changes, notice] of [
    [{ status: "failed", error: { content: "No room." } }, /No room\./],
    [{ status: "failed" }, /The answer could not be written\./],
    [{ decision: "NO_ANSWER" }, /Try other words/],
    [{ decision: "NO_ANSWER", offers: ["add_documents"] }, /There are no documents here yet\. Attach files.*add a document/],
    [{ being_read: 21 }, /21 documents were still being read.*Ask again/],
    [{ grounding: [{ supported: false }, { supported: null }, { supported: true }] }, /1 sentence that the passages do not clearly support/],
    [{ sources: [{ ...source, ...overdue }], overdue_sources: [1] }, /Review of “Leave” was due on 12 Mar 2026\. Check that it still holds\./],
    [{ sources: [{ ...source, ...overdue }, { ...source, ...overdue, marker: 2, title: "Fees", document_id: "f" }], overdue_sources: [1, 2] }, /2 cited documents are overdue for review: Leave, Fees\./],
    [{ source_changed_at: "2026-11-01T10:00:00Z" }, /A document that this answer cites has changed since\..*Ask again/],
  ]) test(`what has to be said: ${notice.source}`, () => assert.match(finished(changes).after, notice));
  for (const [status, rateable] of [["complete", true], ["stopped", true], ["cut", true], ["interrupted", false], ["failed", false]]) {
    test(`${status} it can be rated: ${rateable}`, () => {
      assert.equal(finished({ status }).answer.after.querySelectorAll(".rating-form").length === 1, rateable);
    });
  }
  for (const [changes, age] of [
    [{ added_at: null }, undefined], [{ ...overdue, overdue: false }, "of 12 Mar 2024"], [{ ...overdue, overdue: false, version: 3, replaced: true }, "of 12 Mar 2024 · version 3 · replaced since"],
    [overdue, "of 12 Mar 2024 · review was due on 12 Mar 2026"],
  ]) test(`says how old its source is: ${age}`, () => {
    const { answer } = finished({ sources: [{ ...source, ...changes }] });
    assert.equal(answer.after.querySelector(".source-card .source-age")?.textContent, age);
  });
  test("to a count that could not be read leads to the form, with the question's words", () => {
    const { answer, on } = made();
    on.questionOf = () => "How many leaves & fees?";
    answer.finish({ ...message, decision: "NO_ANSWER", offers: ["count_form"] });
    const link = answer.after.querySelector("a.button");
    assert.equal(link.getAttribute("href"), "/documents/count/?question=How+many+leaves+%26+fees%3F");
    assert.doesNotMatch(answer.after.textContent, /Try other words/);
  });
  test("given while documents were being read can be asked for again", () => {
    const { answer, on, after } = finished({ decision: "NO_ANSWER", being_read: 1 });
    assert.doesNotMatch(after, /Try other words/);
    answer.after.querySelector(".notice button").click();
    assert.equal(on.regenerate.mock.callCount(), 1);
  });
  test("that no model wrote lists what it does not show, four at first", () => {
    const sources = [1, 2, 3, 4, 5, 6].map((marker) => ({ ...source, marker, cited: marker === 1 }));
    const { answer, after } = finished({ model: "", degraded: [{ step: "generate", reason: "away" }], sources });
    assert.equal(answer.element.classList.contains("is-passages"), true);
    assert.deepEqual(answer.after.querySelectorAll(".source-card").map((card) => card.dataset.marker), ["2", "3", "4", "5", "6"]);
    assert.match(after, /1 more passage looked at/);
  });
  test("from many passages of one document has them under one card, beside those of others", () => {
    const cited = (marker, document_id, title) => ({ ...source, marker, document_id, title, cited: true });
    const sources = [cited(1, "a", "Guide"), cited(2, "b", "Rules"), cited(3, "a", "Guide"), cited(4, "a", "Guide"), cited(5, "c", "Fees")];
    const { answer } = finished({ sources });
    const group = answer.after.querySelector(".document-card");
    assert.equal(group.querySelector("summary").textContent, "Guide3 passages");
    assert.deepEqual(group.querySelectorAll(".source-card").map((card) => card.dataset.marker), ["1", "3", "4"]);
    assert.deepEqual(answer.after.querySelectorAll(".source-card").map((card) => card.dataset.marker), ["1", "3", "4", "2", "5"]);
  });
  test("that asks back offers its choices and no sources", () => {
    const { answer, on } = finished({ decision: "CLARIFY", clarification: { question: "Which?", options: ["A", "B"] } });
    answer.after.querySelectorAll(".option")[1].click();
    assert.deepEqual(on.option.mock.calls[0].arguments, ["B"]);
    assert.equal(answer.after.querySelectorAll(".source-card").length, 0);
  });
  test("opens a cited source among the cited ones, another among all", () => {
    const { answer, on } = finished({ sources: [{ ...source, marker: 1, cited: false }, { ...source, marker: 2 }] });
    answer.openSource(2, null);
    answer.openSource(1, null);
    assert.deepEqual(on.source.mock.calls.map(({ arguments: [, list, index] }) => [list.length, index]), [[1, 0], [2, 0]]);
  });
});

describe("a decision path", () => {
  const detail = (values) => decisionPath([step({ detail: values })]).querySelectorAll("dd").map((value) => value.textContent);
  for (const [value, shown] of [
    [3, ["3"]], [0.12345, ["0.123"]], [true, ["yes"]], ["text", ["text"]], [["a", "b"], ["ab"]], [{ a: 1, b: 0.5 }, ["a: 1b: 0.500"]],
    [[{ kind: "original", text: "Days?" }], ["kind: original · text: Days?"]], [{ a: { b: 1 } }, ['{\n  "a": {\n    "b": 1\n  }\n}']], [0, ["0"]], [false, ["no"]],
    [null, []], ["", []], [[], []], [{}, []],
  ]) test(`a detail: ${JSON.stringify(value)}`, () => assert.deepEqual(detail({ key: value }), shown));
  test("candidates are a table of ranks and scores by leg", () => {
    const rows = [{ chunk_id: "abcdefghijk", ranks: { bm25: 1 }, scores: { final: 0.5 } }, { chunk_id: "x", ranks: { dense: 2 }, scores: {} }];
    const [head, body] = passageTable("candidates", rows);
    assert.deepEqual(head, ["Passage", "Overall", "Rank: By words", "Rank: By meaning"]);
    assert.deepEqual(body, [["abcdefgh", 0.5, 1, undefined], ["x", undefined, undefined, 2]]);
  });
});

describe("a plan", () => {
  const task = (id, ...depends_on) => ({ id, type: "retrieve", state: "waiting", depends_on });
  test("says each task's state and what came before it", () => {
    const card = planTasks([task("a"), { ...task("b", "a"), state: "done", duration_ms: 1500 }]).querySelectorAll(".plan-task")[1];
    assert.deepEqual([".plan-state", ".plan-note"].map((part) => card.querySelector(part).textContent), ["done · 1.5 s", "b · after a"]);
  });
});

describe("a source", () => {
  for (const [source, web] of [
    [{ kind: "web", url: "https://x.test" }, true], [{ kind: "web", url: "javascript:alert(1)" }, false], [{ kind: "web", url: "" }, false],
    [{ kind: "document", url: "https://x.test" }, false],
  ]) test(`${source.kind} ${source.url} is a web page: ${web}`, () => assert.equal(isWeb(source), web));
  for (const [heading, place] of [["Leave › Days", "Days"], ["Leave", ""], ["", ""], ["A › B", "A › B"]]) {
    test(`lies at ${JSON.stringify(heading)}: ${JSON.stringify(place)}`, () => assert.equal(placeIn({ title: "Leave", heading }), place));
  }
  for (const [page, text, section] of [
    [null, "## Days\n\nThirty days.", "Days"], [4, "One. Two.\n\n6 Costs\n\nIt is free. Again costs EUR 420.", "6 Costs"], [4, "R6 | fail | –\n\nIt is free.", ""],
    [null, "6 Costs\n\nIt is free.", ""],
  ]) test(`names its section: ${section || "none"}, page ${page}`, () => assert.equal(sectionIn({ title: "Guide", text, page }, text.length - 2), section));
  for (const [name, value, share] of [
    ["final", 0.5, 0.5], ["final", 1.7, 1], ["dense", -0.2, 0], ["bm25", 8, 0.5], ["boost", 1, 0.5], ["fused", 0.05, 0.5], ["fused", 3, 0.5],
  ]) test(`the bar of ${name} ${value}: ${share}`, () => assert.equal(scoreShare(name, value), share));
});

describe("the composer", () => {
  const QUICK = { rewrite: false, hyde: false, rerank: false };
  const effort = (name, workflow, options = {}, is_effort = true) => ({ name, label: name, hint: "", workflow, options, is_effort });
  const EFFORTS = [effort("quick", "corrective", QUICK), effort("careful", "corrective"), effort("thorough", "dual_loop")];
  const offered = (...workflows) => [...EFFORTS.filter((one) => workflows.includes(one.workflow)), ...workflows.map((name) => effort(name, name, {}, false))];
  const PARTS = [
    ["textarea"], ["button", "data-send"], ["p", "data-counter"], ["button", "data-workflow"], ["button", "data-collections"], ["button", "data-filters"],
    ["button", "data-assistant"], ["button", "data-adjust"], ["ul", "data-files"], ["ul", "data-chips"], ["ul", "data-documents"], ["input", "data-choose"], ["button", "data-attach"],
  ];
  function made({ workflows = ["corrective", "react", "dual_loop"], web = null, collections = [], answers = {}, typed = "", ...on } = {}) {
    const calls = serve({ "GET /api/collections": { results: collections, next: null }, ...answers });
    const form = element("form");
    for (const [tag, name] of PARTS) element(tag, name ? { [name]: "" } : {}, form);
    form.querySelector("textarea").value = typed;
    const onSend = mock.fn(() => true);
    const onStop = mock.fn();
    const limits = { message_chars: 20, file_bytes: 1000, files: 3 };
    const composer = new Composer(form, { workflows: offered(...workflows), limits, accept: [".md"], page: "/self-corrective-rag", web, username: "ann", onSend, onStop, ...on });
    composer.useDraft("new");
    const write = (text) => {
      composer.input.value = text;
      composer.changed();
    };
    const key = (given) => composer.input.dispatchEvent(Object.assign(new Event("keydown", { cancelable: true }), { key: "Enter", ...given }));
    return { composer, form, onSend, onStop, write, key, calls };
  }
  const PLACES = [["mei/law", "mei", false], ["ann/notes", "ann", true], ["site:handbook", null, true]]
    .map(([address, owner, searched]) => ({ address, owner, searched, name: address, document_count: 1 }));
  for (const [name, changes, label, query] of [
    ["alone", { collections: ["mei/law"] }, "Its collections", "?collections=mei%2Flaw"],
    ["and the reader's own", { collections: ["mei/law"], with_own: true }, "Its collections and your own", "?collections=mei%2Flaw%2Cann%2Fnotes"],
    ["of which none can be read", { unreadable: 2 }, "Its collections", ""],
    ["which are all", {}, "Those searched by default", ""],
  ]) test(`an assistant's places, ${name}, are shown and give the filters`, async () => {
    const assistant = { id: "a", name: "Rules", collections: [], unreadable: 0, with_own: false, ...changes };
    const { composer, form } = made({ collections: PLACES, assistant });
    await settled();
    assert.equal(form.querySelector("[data-collections]").textContent, label);
    assert.equal(composer.filterQuery(), query);
  });
  for (const [name, keys, sent] of [
    ["Enter sends", {}, 1], ["Shift and Enter is a new line", { shiftKey: true }, 0], ["Enter that ends a composition does not send", { isComposing: true }, 0],
    ["nor does Safari's", { keyCode: 229 }, 0], ["another key does not send", { key: "a" }, 0],
  ]) test(name, () => {
    const { write, key, onSend } = made();
    write("How long?");
    key(keys);
    assert.equal(onSend.mock.callCount(), sent);
  });
  for (const [name, text, sent] of [["blank", "  \n", []], ["too long", "x".repeat(21), []], ["trimmed", " How long? ", ["How long?"]]]) {
    test(`what is sent: ${name}`, () => {
      const { write, key, onSend } = made();
      write(text);
      key({});
      assert.deepEqual(onSend.mock.calls.map(({ arguments: [asked] }) => asked), sent);
    });
  }
  test("words typed before the page's script was there stay; those of another conversation go", () => {
    const { composer, form } = made({ typed: "How long?" });
    assert.equal(composer.input.value, "How long?");
    assert.equal(form.querySelector("[data-send]").disabled, false);
    composer.useDraft("other");
    assert.equal(composer.input.value, "");
    composer.useDraft("new");
    assert.equal(composer.input.value, "How long?");
  });
  test("a document that the address names is a chip, asked for its task once and about it from then on", async () => {
    const { composer, form } = made({ answers: { "GET /api/documents/1": { id: "1", title: "Guide" } } });
    await composer.begin(new URLSearchParams("documents=1&task=summarise"));
    const chips = () => form.querySelector("[data-documents]").children.length;
    assert.deepEqual([composer.settings().documents, composer.settings().task, chips()], [["1"], "summarise", 2]);
    assert.equal(composer.input.value, "Summarise “Guide”.");
    composer.named.taken();
    assert.deepEqual([composer.settings().documents, composer.settings().task, chips()], [["1"], undefined, 1]);
    composer.named.remove("1");
    assert.equal(composer.settings().documents, undefined);
  });
  test("is empty once the question is sent, and keeps it where it cannot be sent now", () => {
    const now = made();
    now.write("How long?");
    now.composer.send();
    assert.equal(now.composer.input.value, "");
    const later = made({ onSend: () => false });
    later.write("How long?");
    later.composer.send();
    assert.equal(later.composer.input.value, "How long?");
  });
  test("while an answer is written Enter waits and the button stops", () => {
    const { composer, form, write, key, onSend, onStop } = made();
    composer.setBusy(true);
    write("Next?");
    key({});
    form.dispatchEvent(new Event("submit", { cancelable: true }));
    assert.deepEqual([onSend.mock.callCount(), onStop.mock.callCount()], [0, 1]);
  });
  test("says how much too long a question is", () => {
    const { composer, write } = made();
    write("x".repeat(22));
    assert.equal(composer.counter.textContent, "2 characters too long: attach the text as a file");
    assert.equal(composer.button.disabled, true);
  });
  for (const [name, kept, options, settings] of [
    ["nothing where nothing was chosen: the site has a default", {}, {}, {}],
    ["a quick one, without the calls that look for better words", { "effort.ann": "quick" }, {}, { workflow: "corrective", options: QUICK }],
    ["a thorough one", { "effort.ann": "thorough" }, {}, { workflow: "dual_loop" }],
    ["the reader's own choice, not another's of this browser", { "effort.bob": "quick" }, {}, {}],
    ["a workflow by its name, and the web", { "workflow.ann": "react", "web_search.ann": "1" }, { web: { by_default: false } }, { workflow: "react", options: { web_search: true } }],
    ["no effort that the site no longer has", { "effort.ann": "thorough" }, { workflows: ["corrective"] }, {}],
    ["not one that the site no longer has", { "workflow.ann": "gone" }, {}, {}],
    ["nothing of the web where nobody chose: the workflow has its own rule", {}, { web: { by_default: false } }, {}],
    ["nor where the site has it on", {}, { web: { by_default: true } }, {}],
    ["the web, as it was chosen", { "web_search.ann": "0" }, { web: { by_default: true } }, { options: { web_search: false } }],
    ["the web, where it was chosen", { "web_search.ann": "1" }, { web: { by_default: false } }, { options: { web_search: true } }],
  ]) test(`what goes with a question: ${name}`, () => {
    for (const [key, value] of Object.entries(kept)) localStorage.setItem(`ragsite.${key}`, value);
    assert.deepEqual(made(options).composer.settings(), settings);
  });
  for (const [name, chat_models, sent] of [
    ["the chosen model goes with a question", ["large", "small"], "small"],
    ["one that the site no longer offers does not", ["large", "other"], undefined],
    ["nor does one while no model can be reached", [], undefined],
  ]) test(name, async () => {
    localStorage.setItem("ragsite.model.ann", "small");
    const { composer } = made({ answers: { "GET /api/status": { chat_models } } });
    await settled();
    assert.equal(composer.settings().model, sent);
  });
  test("models can be chosen where there are several, the site's own first", async () => {
    const { composer, form } = made({ answers: { "GET /api/status": { chat_models: ["large", "small"] } } });
    const labels = (await composer.effort.advanced()).map(({ label, heading }) => label ?? heading);
    assert.deepEqual(labels.slice(-5), ["Model", "large", "small", "", "Self-corrective, step by step"]);
    (await composer.effort.advanced()).find(({ label }) => label === "small").run();
    assert.equal(composer.settings().model, "small");
    assert.match(form.querySelector("[data-workflow]").textContent, /small/);
  });
  test("one model alone is no choice", async () => {
    const { composer } = made({ answers: { "GET /api/status": { chat_models: ["large"] } } });
    assert.ok(!(await composer.effort.advanced()).some(({ heading }) => heading === "Model"));
  });
  for (const [workflow, by_default, kept, says] of [
    ["corrective", false, null, false], ["corrective", true, null, true], ["dual_loop", false, null, true], ["dual_loop", false, "0", false],
    ["corrective", false, "1", true],
  ]) test(`${workflow}, by default ${by_default}, chosen ${kept}: says that the web is searched: ${says}`, () => {
    if (kept) localStorage.setItem("ragsite.web_search.ann", kept);
    localStorage.setItem("ragsite.workflow.ann", workflow);
    const { form } = made({ workflows: ["corrective", "dual_loop"], web: { by_default } });
    assert.equal(form.querySelector("[data-collections]").textContent.includes("+ web"), says);
  });
  const RULES = { id: "a1", name: "Rules", description: "Short answers", collections: ["site:law"], starters: ["How long?"] };
  test("the site's default assistant is left to the site, and decides what the reader does not", () => {
    localStorage.setItem("ragsite.effort.ann", "thorough");
    localStorage.setItem("ragsite.model.ann", "small");
    const { composer, form } = made({ assistant: RULES });
    assert.deepEqual(composer.settings(), {});
    assert.ok(form.classList.contains("is-folded"));
    assert.match(form.querySelector("[data-assistant]").textContent, /Rules/);
    composer.effort.choose(composer.effort.find(true, "quick"));
    assert.deepEqual(composer.settings(), { workflow: "corrective", options: QUICK });
    assert.equal(localStorage.getItem("ragsite.effort.ann"), "thorough"); // for this conversation alone
    composer.assistant.choose(null);
    assert.deepEqual(composer.settings(), { assistant: "", workflow: "dual_loop", model: "small" });
    assert.ok(!form.classList.contains("is-folded"));
  });
  test("an assistant that is chosen goes with the question until the site has it; a conversation brings its own", async () => {
    const { composer, form } = made({ answers: { "GET /api/assistants/a1": RULES, "GET /api/assistants": { results: [RULES], next: null } } });
    const items = await composer.assistant.items();
    assert.deepEqual(items.map(({ label, heading }) => label ?? heading), ["None", "Rules", "", "All assistants", "New assistant"]);
    items[1].run();
    assert.equal(composer.settings().assistant, "a1");
    composer.assistant.taken();
    assert.equal(composer.settings().assistant, undefined);
    composer.useDraft("s", [], {});
    assert.equal(composer.assistant.chosen, null);
    composer.useDraft("t", [], { id: "a1", name: "Rules" });
    await settled();
    assert.deepEqual(composer.assistant.chosen, RULES);
    form.querySelector("[data-adjust]").click();
    assert.ok(!form.classList.contains("is-folded"));
  });
  test("an assistant's filters are seen, and can be taken off for this conversation", () => {
    const { composer, form } = made({ assistant: { ...RULES, filters: { department: "HR", tags: ["pay"] } } });
    assert.deepEqual(form.querySelectorAll(".filter-chip").map((chip) => chip.textContent), ["Department: HR", "Tag: pay"]);
    assert.equal(composer.settings().filters, undefined);
    composer.filters.toggle("department", "HR");
    composer.filters.toggle("tags", "pay");
    assert.deepEqual(composer.settings().filters, {});
    composer.assistant.choose(null);
    assert.equal(composer.settings().filters, undefined);
  });
  test("filters are chips; of one field there is one value, but for tags", () => {
    const { composer, form } = made();
    for (const [field, value] of [["department", "HR"], ["department", "Finance"], ["policy_year", 2025], ["tags", "pay"], ["tags", "leave"]]) composer.filters.toggle(field, value);
    assert.deepEqual(composer.settings().filters, { department: "Finance", policy_year: 2025, tags: ["pay", "leave"] });
    const chips = form.querySelectorAll(".filter-chip");
    assert.deepEqual(chips.map((chip) => chip.textContent), ["Department: Finance", "Year: 2025", "Tag: pay", "Tag: leave"]);
    composer.filters.toggle("tags", "pay");
    assert.deepEqual(composer.settings().filters.tags, ["leave"]);
    composer.useDraft("s");
    assert.equal(composer.settings().filters, undefined);
  });
  test("files of the conversation are shown, and asked with", async () => {
    const rows = [{ id: "d1", file_name: "rules.md", status: "ready" }, { id: "d2", file_name: "scan.md", status: "failed", error: "It has a password." }];
    const { composer, form } = made({ answers: { "GET /api/attachments?session_id=s": { session_id: "s", documents: rows } } });
    composer.useDraft("s");
    await composer.withFiles();
    await settled();
    assert.deepEqual(form.querySelectorAll(".file-chip-name").map((name) => name.textContent), ["rules.md", "scan.md"]);
    assert.equal(form.querySelector(".is-failed .file-chip-state").textContent, "It has a password.");
    assert.equal(composer.settings().session_id, "s");
  });
});

describe("a temporary conversation", () => {
  const session = () => ({ id: "t", title: "Temporary chat", temporary: true, expires_at: "2026-11-29T21:10:00Z" });
  function made(rule = "allowed", answers = {}) {
    const asked = serve({ "PATCH /api/sessions/t": { id: "t", title: "Leave", temporary: false, expires_at: null }, ...answers });
    const banner = element("div");
    element("span", { "data-temporary-text": "" }, banner);
    const keep = element("button", { "data-keep": "" }, banner);
    const toggle = element("button");
    const on = { onToggle: mock.fn(), onKept: mock.fn() };
    return { temporary: new Temporary(banner, toggle, { rule, ...on }), banner, keep, toggle, on, asked };
  }
  test("is switched to and back", () => {
    const { temporary, toggle, banner, on } = made();
    temporary.show(null);
    assert.equal(banner.hidden, true);
    toggle.click();
    temporary.show(null, true);
    assert.deepEqual([banner.hidden, toggle.getAttribute("aria-pressed")], [false, "true"]);
    toggle.click();
    assert.deepEqual(on.onToggle.mock.calls.map((call) => call.arguments[0]), [true, false]);
  });
  test("says when it ends, and can be kept", () => {
    const { temporary, banner, keep } = made();
    temporary.show(session());
    assert.match(banner.textContent, /deleted on 29 Nov/);
    assert.deepEqual([temporary.isOn, keep.hidden], [true, false]);
  });
  test("where the site leaves no choice none is offered", () => {
    const { temporary, banner, keep, on } = made("enforced");
    temporary.show(null);
    temporary.switchOver();
    assert.match(banner.textContent, /every new conversation/);
    assert.deepEqual([banner.hidden, keep.hidden, on.onToggle.mock.callCount()], [false, true, 0]);
    temporary.show({ id: "o", title: "Older", temporary: false });
    assert.equal(banner.hidden, true);
  });
  test("is kept when that can't be undone any more", async () => {
    const { temporary, banner, keep, on, asked } = made();
    temporary.show(session());
    keep.click();
    assert.deepEqual([banner.hidden, asked.length], [true, 0]);
    dispatchEvent(new Event("pagehide"));
    await settled();
    assert.deepEqual(asked.map(({ call, body }) => [call, body]), [["PATCH /api/sessions/t", { temporary: false }]]);
    assert.equal(on.onKept.mock.calls[0].arguments[0].title, "Leave");
    assert.equal(temporary.isOn, false);
  });
  test("stays temporary when keeping it is undone", () => {
    const { temporary, banner, keep, asked } = made();
    temporary.show(session());
    keep.click();
    document.querySelector(".toast-action").click();
    assert.deepEqual([banner.hidden, asked.length], [false, 0]);
  });
  test("that could not be kept says why and stays", async () => {
    const { temporary, banner, keep } = made("allowed", { "PATCH /api/sessions/t": [403, { error: { code: "temporary_chat_enforced", message: "It cannot be kept.", fields: {} } }] });
    temporary.show(session());
    keep.click();
    temporary.end();
    await settled();
    assert.equal(banner.hidden, false);
    assert.match(document.querySelector(".toast").textContent, /It cannot be kept/);
  });
});

describe("the list of conversations", () => {
  const now = new Date().toISOString();
  const row = (id) => ({ id, title: `Title ${id}`, updated_at: now });
  async function made(answers = {}) {
    const asked = serve({ "GET /api/sessions?folder=": { results: [row("1"), row("2")], next: null }, "GET /api/sessions/folders": { results: [], next: null }, ...answers });
    const [list, search] = [element("nav"), element("input")];
    const on = { onOpen: mock.fn(), onGone: mock.fn(), onRenamed: mock.fn(), onShare: mock.fn() };
    const sessions = new SessionList(list, search, on);
    await sessions.load();
    const calls = asked.splice(0);
    return { sessions, list, search, on, calls: asked, loaded: calls, titles: () => list.querySelectorAll("a.side-link").map((link) => link.textContent) };
  }
  test("shows what there is, by day", async () => {
    const { list, titles } = await made();
    assert.deepEqual(titles(), ["Title 1", "Title 2"]);
    assert.deepEqual(list.querySelectorAll(".side-group").map((group) => group.textContent), ["Today"]);
  });
  test("the next page adds what is not there yet", async () => {
    const { sessions, titles } = await made({
      "GET /api/sessions?folder=": { results: [row("1")], next: "https://inside/api/sessions?page=2" }, "GET /api/sessions?page=2": { results: [row("1"), row("2")], next: null },
    });
    await sessions.loadMore();
    assert.deepEqual(titles(), ["Title 1", "Title 2"]);
  });
  test("deletes after the time to undo", async (t) => {
    const { sessions, titles, calls, on } = await made({ "DELETE /api/sessions/1": [204] });
    t.mock.timers.enable({ apis: ["setTimeout"] });
    sessions.setCurrent("1");
    sessions.remove(row("1"));
    assert.deepEqual(titles(), ["Title 2"]);
    assert.equal(on.onGone.mock.callCount(), 1);
    t.mock.timers.tick(9999);
    assert.equal(calls.length, 0);
    t.mock.timers.tick(1);
    await settled();
    assert.equal(calls[0].call, "DELETE /api/sessions/1");
  });
  test("undo brings it back and nothing is deleted", async (t) => {
    const { sessions, titles, calls } = await made();
    t.mock.timers.enable({ apis: ["setTimeout"] });
    sessions.remove(row("1"));
    document.querySelector("#toasts button").click();
    t.mock.timers.tick(10_000);
    await settled();
    assert.deepEqual([titles(), calls.length], [["Title 1", "Title 2"], 0]);
  });
  test("leaving the page deletes at once", async () => {
    const { sessions, calls } = await made({ "DELETE /api/sessions/1": [204] });
    sessions.remove(row("1"));
    dispatchEvent(new Event("pagehide"));
    await settled();
    assert.equal(calls[0].call, "DELETE /api/sessions/1");
  });
  test("pinned ones and folders come first; a folder is read when it is opened", async () => {
    const { sessions, list, titles, calls } = await made({
      "GET /api/sessions?folder=": { results: [{ ...row("1"), pinned: true }, row("2")], next: null },
      "GET /api/sessions/folders": { results: [{ name: "Thesis & co", session_count: 1 }], next: null },
      "GET /api/sessions?folder=Thesis+%26+co": { results: [row("3")], next: null },
    });
    assert.deepEqual(list.querySelectorAll(".side-group").map((group) => group.textContent), ["Pinned", "Today"]);
    assert.deepEqual(titles(), ["Title 1", "Title 2"]);
    await sessions.toggle("Thesis & co");
    assert.equal(list.querySelector(".side-folder").getAttribute("aria-expanded"), "true");
    assert.deepEqual(titles(), ["Title 1", "Title 3", "Title 2"]);
    assert.equal(calls.at(-1).call, "GET /api/sessions?folder=Thesis+%26+co");
    await sessions.toggle("Thesis & co");
    assert.deepEqual(titles(), ["Title 1", "Title 2"]);
  });
});

describe("the banner", () => {
  async function made(status, { onLine = true } = {}) {
    serve({ "GET /api/status": status });
    navigator.onLine = onLine;
    const banner = element("div", { hidden: "" });
    element("p", { "data-banner-text": "" }, banner);
    element("a", { "data-banner-models": "", hidden: "" }, banner);
    const reading = element("div", { hidden: "" });
    element("span", { "data-reading-text": "" }, reading);
    element("progress", {}, reading);
    const watched = watchStatus(banner, reading);
    await settled();
    return { banner, reading, watched };
  }
  const up = { online: true, offline_forced: false, reason: "" };
  for (const [name, status, online, text] of [
    ["all is well", up, {}, ""],
    ["no model", { ...up, online: false }, {}, "No AI model is connected: answers are the passages that fit best."],
    ["no model, on purpose", { ...up, online: false, offline_forced: true }, {}, "Working without an AI model: answers are the passages that fit best."],
    ["no network", up, { onLine: false }, "No connection. An answer being written goes on, and appears here as soon as you are back."],
    ["the site does not answer", [503, {}], {}, ""],
  ]) test(name, async () => {
    const { banner } = await made(status, online);
    assert.equal(banner.textContent, text);
    assert.equal(banner.hidden, text === "");
    assert.equal(banner.querySelector("[data-banner-models]").hidden, name !== "no model"); // the step that mends it
  });
  test("documents that are being read", async () => {
    const { reading } = await made({ ...up, reading: { total: 24, done: 3 } });
    assert.equal(reading.hidden, false);
    assert.match(reading.textContent, /24 documents are being read: 3 done/);
    assert.deepEqual(["max", "value"].map((name) => Number(reading.querySelector("progress")[name])), [24, 3]);
    const { reading: none } = await made({ ...up, reading: { total: 0, done: 0 } });
    assert.equal(none.hidden, true);
  });
  test("a connection that is lost and back", async () => {
    const { banner, watched } = await made(up);
    watched.connection(false);
    assert.match(banner.textContent, /^No connection\./);
    watched.connection(true);
    assert.equal(banner.hidden, true);
  });
});
