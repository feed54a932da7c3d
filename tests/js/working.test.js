// A worker's progress on a page of the desk: kept up to date, and the page is loaded again once it has ended.
import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";
import { element, freshPage, settled } from "./page.js";

let copy = 0;
/** What the site's page shows of the progress; null: it has ended. @type {string | null} */
let onSite = null;

beforeEach(() => {
  freshPage();
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  location.href = "/review/imports/1/";
  location.reload = mock.fn();
  globalThis.DOMParser = class {
    parseFromString() {
      return { querySelector: () => (onSite === null ? null : { innerHTML: onSite }) };
    }
  };
});

async function watched(fetch) {
  const main = element("main");
  const progress = element("div", { "data-working": "" }, main);
  progress.innerHTML = "1 of 9 rows";
  globalThis.fetch = fetch ?? (async () => new Response("<html>"));
  await import(`../../ragsite/web/static/js/working.js?${++copy}`);
  const wait = async () => {
    mock.timers.tick(2000);
    for (let turn = 0; turn < 5; turn += 1) await settled();
  };
  return { main, progress, wait };
}

describe("a worker's progress", () => {
  test("is shown as it goes on, without loading the page", async () => {
    const { progress, wait } = await watched();
    onSite = "5 of 9 rows";
    await wait();
    onSite = "8 of 9 rows";
    await wait();
    assert.deepEqual([progress.innerHTML, location.reload.mock.callCount()], ["8 of 9 rows", 0]);
  });
  test("leads to the whole page once it has ended, and is not asked for again", async () => {
    const { wait } = await watched();
    onSite = null;
    await wait();
    await wait();
    assert.equal(location.reload.mock.callCount(), 1);
  });
  test("holds a box that the page itself ticked for no change", async () => {
    const { main, wait } = await watched();
    const box = element("input", { type: "checkbox" }, main);
    Object.assign(box, { type: "checkbox", value: "on", defaultValue: "", checked: true, defaultChecked: true });
    onSite = null;
    await wait();
    assert.equal(location.reload.mock.callCount(), 1);
  });
  test("takes nothing away from who is typing", async () => {
    const { main, progress, wait } = await watched();
    const note = element("textarea", {}, main);
    note.defaultValue = "";
    note.value = "Half a sentence";
    onSite = null;
    await wait();
    assert.equal(location.reload.mock.callCount(), 0);
    assert.equal(progress.textContent, "Done. Load the page again");
  });
  test("stays where it is while the site is away, and goes on when it is back", async () => {
    const { progress, wait } = await watched(mock.fn(async () => { throw new TypeError("away"); }));
    onSite = "2 of 9 rows";
    await wait();
    assert.equal(progress.innerHTML, "1 of 9 rows");
    globalThis.fetch = async () => new Response("<html>");
    await wait();
    assert.equal(progress.innerHTML, "2 of 9 rows");
  });
});
