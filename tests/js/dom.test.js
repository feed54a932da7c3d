import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";
import { element, freshPage, markup } from "./page.js";
import { site } from "./site.js";

const { byId, bytes, dayOf, debounce, h, query, seconds, store } = await site("dom.js");

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

describe("the group of a list by age", () => {
  const now = new Date(2026, 4, 20, 15, 0);
  const cases = [
    [new Date(2026, 4, 20, 0, 1), "Today"],
    [new Date(2026, 4, 20, 23, 0), "Today"],
    [new Date(2026, 4, 19, 23, 59), "Yesterday"],
    [new Date(2026, 4, 15, 12, 0), "This week"],
    [new Date(2026, 4, 1, 12, 0), "This month"],
    [new Date(2026, 1, 3, 12, 0), "February 2026"],
  ];
  for (const [time, group] of cases) {
    test(`${time.toDateString()} ${time.getHours()} h: ${group}`, (t) => {
      t.mock.timers.enable({ apis: ["Date"], now });
      assert.equal(dayOf(time.toISOString()), group);
    });
  }
});

describe("building", () => {
  test("text stays text, whatever it says", () => {
    assert.equal(markup(h("p", {}, "<b>", h("em", {}, "&"))), "<p>&lt;b><em>&amp;</em></p>");
  });
  test("attributes that are null, undefined or false are left out, true is empty", () => {
    const made = h("input", { required: true, disabled: false, title: null, lang: undefined, tabindex: 0 });
    assert.deepEqual([...made.attributes], [["required", ""], ["tabindex", "0"]]);
  });
});

describe("finding", () => {
  test("an element of the page by its id", () => {
    const made = element("p", { id: "here" });
    assert.equal(byId("here"), made);
  });
  test("an element that the page does not have is an error that names it", () => {
    assert.throws(() => query(document, ".missing"), { name: "TypeError", message: /\.missing/ });
  });
});

test("debounce acts once, after the last call", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const action = mock.fn();
  const asked = debounce(action, 200);
  asked();
  t.mock.timers.tick(150);
  asked();
  t.mock.timers.tick(150);
  assert.equal(action.mock.callCount(), 0);
  t.mock.timers.tick(50);
  assert.equal(action.mock.callCount(), 1);
});

describe("what the browser keeps", () => {
  test("is kept under the site's name, and an empty value is taken out", () => {
    store.set("draft.new", "half a question");
    assert.equal(localStorage.getItem("ragsite.draft.new"), "half a question");
    store.set("draft.new", "");
    assert.equal(store.get("draft.new"), null);
  });
  test("storage that is blocked loses the convenience and nothing else", (t) => {
    const blocked = () => { throw new Error("blocked"); };
    t.mock.method(localStorage, "getItem", blocked);
    t.mock.method(localStorage, "setItem", blocked);
    store.set("theme", "dark");
    assert.equal(store.get("theme"), null);
  });
});
