// The palette: what it finds, its keys, and what it says when it could not look; and the offer to install the site.
import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";
import { element, freshPage, serve, settled } from "./page.js";
import { site } from "./site.js";

const PAGES = [
  { label: "Documents", url: "/documents/", icon: "documents", group: "" },
  { label: "Log", url: "/administration/log/", icon: "settings", group: "Administration" },
];
const OFFERED = { pages: PAGES, temporary: true };
const CONVERSATIONS = { results: [{ id: "c", title: "Leave days", found: "30 days" }] };

beforeEach(() => {
  freshPage();
  HTMLElement.prototype.showModal = function showModal() { this.open = true; };
  HTMLElement.prototype.close = function close() { this.open = false; this.dispatchEvent(new Event("close")); };
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  location.assign = mock.fn();
});

describe("the palette", () => {
  let copy = 0;
  async function opened(answers = {}) {
    const asked = serve({ "GET /palette.json": OFFERED, "GET /api/sessions?": CONVERSATIONS, ...answers });
    const { togglePalette } = await import(`../../ragsite/web/static/js/palette.js?${++copy}`); // each keeps what the site offers
    const palette = togglePalette();
    await settled();
    const labels = () => palette.list.querySelectorAll("[role=option]").map((row) => row.textContent);
    const type = async (words) => {
      palette.input.value = words;
      palette.input.dispatchEvent(new Event("input"));
      mock.timers.tick(250);
      await settled();
    };
    const press = (key) => palette.input.dispatchEvent(Object.assign(new Event("keydown", { cancelable: true }), { key }));
    const chosen = () => palette.list.querySelectorAll("[role=option]").filter((row) => row.getAttribute("aria-selected") === "true").map((row) => row.textContent);
    return { palette, asked, labels, type, press, chosen, togglePalette };
  }
  test("shows actions, pages and the last conversations", async () => {
    const { labels } = await opened();
    for (const label of ["New conversation", "Temporary chat", "Theme: dark", "Sign out", "Documents", "Log", "Leave days30 days"]) assert.ok(labels().includes(label), label);
  });
  test("without words the last conversations come before the pages, and nothing is counted", async () => {
    const { labels, palette, type } = await opened({ "GET /api/sessions?search=leave": CONVERSATIONS });
    assert.ok(labels().indexOf("Leave days30 days") < labels().indexOf("Documents"));
    assert.equal(palette.note.textContent, "");
    await type("leave");
    assert.equal(palette.note.textContent, "1 result");
  });
  test("offers no temporary chat where the site has none", async () => {
    const { labels } = await opened({ "GET /palette.json": { ...OFFERED, temporary: false } });
    assert.ok(!labels().includes("Temporary chat"));
  });
  test("finds by words of the name and of where it is, and asks for conversations", async () => {
    const { labels, type, asked, palette } = await opened({ "GET /api/sessions?search=log+adm": { results: [] } });
    await type("log adm");
    assert.deepEqual(labels(), ["Log"]);
    assert.equal(palette.note.textContent, "1 result");
    assert.equal(asked.at(-1).call, "GET /api/sessions?search=log+adm");
  });
  test("goes down and round, and Enter goes there", async () => {
    const { type, press, chosen, palette } = await opened({ "GET /api/sessions?search=d": { results: [{ id: "d", title: "Days" }] } });
    await type("d");
    palette.at = palette.entries.length - 1;
    press("ArrowDown");
    const [first] = chosen();
    press("ArrowUp");
    assert.deepEqual([chosen(), chosen()[0] === first], [["Days"], false]);
    assert.equal(palette.input.getAttribute("aria-activedescendant"), `palette-${palette.at}`);
    press("Enter");
    assert.deepEqual([location.assign.mock.calls[0].arguments[0], palette.dialog.open], ["/chat/d/", false]);
  });
  test("nothing found is one thing, not searched another", async () => {
    const { type, palette } = await opened({ "GET /api/sessions?search=xyz": { results: [] }, "GET /api/sessions?search=xyzz": [503, { error: { code: "unavailable", message: "The database is away.", fields: {} } }] });
    await type("xyz");
    assert.equal(palette.note.textContent, "Nothing found.");
    await type("xyzz");
    assert.equal(palette.note.textContent, "Conversations could not be searched: The database is away.");
  });
  test("what an earlier search finds comes too late", async () => {
    let answer;
    const { palette, labels, type } = await opened({
      "GET /api/sessions?search=a": () => new Promise((resolve) => { answer = resolve; }), "GET /api/sessions?search=zzz": { results: [] },
    });
    await type("a");
    await type("zzz");
    answer({ results: [{ id: "a", title: "Late zzz" }] });
    await settled();
    assert.deepEqual([labels(), palette.note.textContent], [[], "Nothing found."]);
  });
  test("is closed by the same keys, and gives the focus back", async () => {
    const button = element("button");
    button.focus();
    const { palette, togglePalette } = await opened();
    assert.equal(document.activeElement, palette.input);
    togglePalette();
    assert.deepEqual([palette.dialog.open, document.activeElement === button], [false, true]);
  });
});

describe("the offer to install the site", async () => {
  const { offerInstall } = await site("install.js");
  function made(event = prompt()) {
    const line = element("div", { hidden: "" });
    const [button, byHand, dismiss] = ["data-install", "data-install-by-hand", "data-install-dismiss"].map((name) => element("button", { [name]: "" }, line));
    offerInstall(line, event);
    return { line, button, byHand, dismiss, event };
  }
  const prompt = () => Object.assign(new Event("beforeinstallprompt"), { prompt: mock.fn(async () => {}) });
  test("is made once", async () => {
    const { line, button, byHand, event } = made();
    assert.deepEqual([line.hidden, button.hidden, byHand.hidden], [false, false, true]);
    await button.onclick();
    assert.deepEqual([event.prompt.mock.callCount(), line.hidden], [1, true]);
  });
  test("is not made again to who closed it", () => {
    const { line, dismiss } = made();
    dismiss.onclick();
    assert.deepEqual([line.hidden, made().line.hidden], [true, true]);
  });
  test("says how it is done where the browser does not ask", () => {
    const { line, button, byHand } = made(null);
    assert.deepEqual([line.hidden, button.hidden, byHand.hidden], [false, true, false]);
  });
});
