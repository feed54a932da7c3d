// The page of the self-corrective workflow: its nodes, which one runs, grades, settings.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { element, freshPage } from "./page.js";
import { site } from "./site.js";

const { Grades } = await site("self_corrective/grades.js");
const { Nodes, nodeName } = await site("self_corrective/nodes.js");
const { Progress } = await site("self_corrective/progress.js");
const { Settings } = await site("self_corrective/settings.js");

const graphOf = (...ways) => {
  const edges = ways.map((way) => way.split(">")).map(([source, target]) => ({ source, target }));
  return { nodes: [...new Set(edges.flatMap(({ source, target }) => [source, target]))], edges };
};
const WORKFLOW = graphOf(
  "__start__>condense", "condense>retrieve", "condense>no_answer", "retrieve>grade", "grade>assess", "assess>rewrite", "assess>generate",
  "assess>no_answer", "rewrite>retrieve", "generate>__end__", "no_answer>__end__",
);
const NODE_OF_STEP = { condense: "condense", route: "condense", retrieve: "retrieve", dedupe: "retrieve", grade: "grade", assess: "assess", rewrite: "rewrite", web_search: "web_search", generate: "generate" };

beforeEach(() => freshPage());

describe("a node's name", () => {
  for (const [id, name] of [["__start__", "Start"], ["no_answer", "No answer"], ["grade", "Grade"]]) test(name, () => assert.equal(nodeName(id), name));
});

describe("the list of nodes", () => {
  const drawn = () => {
    const [frame, now] = [element("div"), element("p")];
    const nodes = new Nodes(frame, WORKFLOW, now);
    const node = (id) => frame.querySelector(`[data-node="${id}"]`);
    return { nodes, now, node, state: (id) => node(id).getAttribute("data-state"), count: (id) => node(id).querySelector(".node-count").textContent };
  };
  test("says what may follow each", () => {
    assert.equal(drawn().node("assess").querySelector(".node-next").textContent, "→ Rephrase, Write, No answer");
  });
  test("shows which node runs and which has, and how often", () => {
    const { nodes, state, now, count } = drawn();
    for (const id of ["retrieve", "retrieve", "elsewhere", "rewrite", "retrieve", "grade"]) nodes.enter(id);
    assert.deepEqual(["retrieve", "grade", "assess"].map(state), ["done", "running", "idle"]);
    assert.deepEqual([count("retrieve"), count("rewrite"), now.textContent], ["×2", "", "Now: Grade"]);
  });
});

describe("which node runs", () => {
  /** The nodes that were entered, the troubles, and the end. */
  function progress() {
    const told = { nodes: [], troubles: [], end: null };
    const picture = {
      current: null,
      reset: () => { picture.current = null; },
      enter: (id) => { if (id !== picture.current) told.nodes.push(picture.current = id); },
      trouble: (id, status) => told.troubles.push([id, status]),
      end: (text, { reached = true } = {}) => { told.end = [text, reached]; },
    };
    return { told, progress: new Progress(picture, NODE_OF_STEP) };
  }
  const step = (name, changes = {}) => ({ name, status: "ok", detail: {}, ...changes });
  const steps = (...given) => given.map((one) => ({ type: "reasoning", step: one }));
  const answer = (changes = {}) => ({ status: "complete", decision: "ANSWER", decision_path: [], ...changes });
  const ROUND = [step("retrieve"), step("dedupe"), step("grade")];
  const PATH = [step("condense"), step("route"), ...ROUND, step("assess", { detail: { verdict: "rewrite" } }), step("rewrite", { detail: { rewritten: true } }),
    ...ROUND, step("assess", { detail: { verdict: "generate" } }), step("generate")];
  const NODES = ["__start__", "condense", "retrieve", "grade", "assess", "rewrite", "retrieve", "grade", "assess", "generate"];

  test("follows the events", () => {
    const { told, progress: made } = progress();
    for (const event of [{ type: "started" }, ...steps(...PATH)]) made.apply(event);
    assert.deepEqual(told.nodes, NODES);
  });
  for (const [name, detail, nodes] of [
    ["route", {}, ["condense", "retrieve"]], ["dedupe", {}, ["retrieve", "grade"]], ["assess", { verdict: "rewrite" }, ["assess", "rewrite"]],
    ["rewrite", { rewritten: true }, ["rewrite", "retrieve"]], ["rewrite", { rewritten: false }, ["rewrite"]], ["grade", {}, ["grade"]],
    ["web_search", {}, ["web_search", "grade"]], ["assess", { decision: "ANSWER" }, []],
  ]) test(`after ${name} ${JSON.stringify(detail)} runs ${nodes.at(-1)}`, () => {
    const { told, progress: made } = progress();
    for (const event of steps(step(name, { detail }))) made.apply(event);
    assert.deepEqual(told.nodes, nodes);
  });
  test("sources come before the answer is written", () => {
    const { told, progress: made } = progress();
    made.apply({ type: "sources", sources: [] });
    assert.deepEqual(told.nodes, ["generate"]);
  });
  for (const [status, troubles] of [["ok", []], ["skipped", []], ["degraded", [["grade", "degraded"]]], ["failed", [["grade", "failed"]]]]) {
    test(`a step that is ${status} is trouble: ${troubles.length > 0}`, () => {
      const { told, progress: made } = progress();
      for (const event of steps(step("grade", { status }))) made.apply(event);
      assert.deepEqual(told.troubles, troubles);
    });
  }
  for (const [changes, end] of [
    [{}, ["The answer is ready.", true]],
    [{ decision: "CLARIFY" }, ["The site asks what you mean.", true]],
    [{ decision: "NO_ANSWER" }, ["Nothing that was found answers the question.", true]],
    [{ decision: null }, ["Done.", true]],
    [{ status: "stopped" }, ["You stopped the answer.", false]],
    [{ status: "interrupted" }, ["The answer was interrupted.", false]],
    [{ status: "failed" }, ["The answer could not be written.", false]],
  ]) test(`the end: ${JSON.stringify(changes)}`, () => {
    const { told, progress: made } = progress();
    made.apply({ type: "done", message: answer(changes) });
    assert.deepEqual(told.end, end);
  });
  test("an error ends it where it was", () => {
    const { told, progress: made } = progress();
    made.apply({ type: "error", content: "The model is away." });
    assert.deepEqual(told.end, ["The model is away.", false]);
  });
});

describe("grades", () => {
  const grade = { title: "Leave", heading: "Leave › Days", page: 3, text: "30 days.", relevant: true, confidence: 0.9, reason: "It says so.", by_model: true };
  const round = (documents) => ({ name: "grade", summary: "Nothing was found.", detail: { documents, pass_count: 1, total_count: 2 } });
  const drawn = (...steps) => {
    const frame = element("div");
    const grades = new Grades(frame);
    for (const step of steps) grades.apply(step);
    return frame;
  };
  test("stand under the query that found them", () => {
    const frame = drawn({ name: "retrieve", detail: { queries: [{ text: "leave" }, { text: "days off" }] } }, round([grade]));
    assert.equal(frame.querySelector(".round-query").textContent, "leave | days off");
    assert.equal(frame.querySelector(".round-share").textContent, "1 of 2 passed");
    assert.equal(frame.querySelector(".grade-place").textContent, "p. 3 · Days");
  });
  const assess = (detail) => ({ name: "assess", summary: "Assessed.", detail: { pass_rate: 0.5, pass_threshold: 0.7, total_count: 2, passed_in_all: 1, ...detail } });
  for (const [detail, verdict] of [
    [{ verdict: "rewrite" }, "Pass rate 50 % 70 % needed. The query is rewritten."],
    [{ verdict: "generate", pass_rate: 0.8 }, "Pass rate 80 % 70 % needed. The answer is written from 1 document."],
    [{ verdict: "generate", passed_in_all: 0, stop: "an answer was asked for" }, "Pass rate 50 % 70 % needed. An answer was asked for. The answer is written from the nearest documents."],
    [{ verdict: "no_answer", stop: "no rewrites left" }, "Pass rate 50 % 70 % needed. No rewrites left. No document passed."],
    [{ verdict: "web_search", stop: "no rewrites left" }, "Pass rate 50 % 70 % needed. No rewrites left. The web is searched."],
    [{ verdict: "other" }, "Pass rate 50 % 70 % needed. Assessed."],
  ]) test(`the verdict: ${verdict}`, () => assert.equal(drawn(round([grade]), assess(detail)).querySelector(".round-verdict").textContent, verdict));
});

describe("settings", () => {
  const boot = {
    username: "ann", limits: { top_k: 50, rewrites: 4 }, presets: { standard: 0.7, strict: 0.9, relaxed: 0.5 }, force_generate: false,
    defaults: { topK: 5, similarityThreshold: 0.3, maxRewriteAttempts: 3, gradePassThreshold: 0.7 },
    collections: [{ id: "c1", name: "policies", address: "ann/policies", owner: "ann" }],
  };
  const unset = { topK: 5, maxRewriteAttempts: 3, gradePassThreshold: 0.7, forceGenerate: false }; // a similarity that is named binds
  const made = (kept) => {
    if (kept !== undefined) localStorage.setItem("ragsite.self_corrective", kept);
    const form = element("form");
    const settings = new Settings(form, boot);
    return { settings, form, slide: (name, value) => {
      const input = form.querySelector(`[name=${name}]`);
      input.value = value;
      input.dispatchEvent(new Event("input"));
    } };
  };
  test("begin with the site's defaults", () => {
    const { settings } = made();
    assert.deepEqual(settings.request(), unset);
    assert.equal(settings.preset, "standard");
  });
  for (const [preset, wanted] of Object.entries(boot.presets)) {
    test(`the preset ${preset} wants a pass rate of ${wanted}`, () => {
      const { settings } = made();
      settings.choose(preset);
      assert.deepEqual(settings.request(), { ...unset, gradePassThreshold: wanted });
      assert.equal(settings.preset, preset);
    });
  }
  for (const [name, value] of [["topK", 7], ["gradePassThreshold", 0.65], ["similarityThreshold", 0.4]]) {
    test(`${name} of one's own is no preset, and is kept`, () => {
      made().slide(name, value);
      const again = made().settings;
      assert.deepEqual(again.request(), { ...unset, [name]: value });
      assert.equal(again.preset, "custom");
    });
  }
  test("an answer in any case is kept, whichever preset is chosen", () => {
    const { settings, form } = made();
    const box = form.querySelector("[name=forceGenerate]");
    box.checked = true;
    box.dispatchEvent(new Event("change"));
    settings.choose("strict");
    assert.deepEqual(made().settings.request(), { ...unset, gradePassThreshold: 0.9, forceGenerate: true });
  });
  for (const [name, kept] of [
    ["is out of range", '{"topK": 21, "similarityThreshold": -1, "maxRewriteAttempts": 5}'],
    ["is no JSON", "{"],
    ["is null", "null"],
    ["names a collection that is gone", '{"collection": "c9"}'],
  ]) test(`what was kept and ${name} is not used`, () => assert.deepEqual(made(kept).settings.request(), unset));
});
