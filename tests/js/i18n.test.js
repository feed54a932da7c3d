import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { freshPage } from "./page.js";
import { site } from "./site.js";

const { gettext, gettextWith, ngettext } = await site("i18n.js");
const { append, h } = await site("dom.js");

const load = (texts) => {
  globalThis.django = { gettext: (text) => texts[text] ?? text, ngettext: (one) => texts[one] };
};

describe("texts of the interface", () => {
  afterEach(() => { delete globalThis.django; });

  test("are as they are written where no catalogue is loaded", () => {
    assert.equal(gettext("Save"), "Save");
    assert.equal(gettext("Delete “{name}”?", { name: "A {name}" }), "Delete “A {name}”?");
  });
  for (const [count, said] of [[0, "0 queries"], [1, "1 query"], [2, "2 queries"], [1234, "1,234 queries"]]) {
    test(`${said} in English`, () => assert.equal(ngettext("{count} query", "{count} queries", count), said));
  }
  test("come from the catalogue of the page's language", () => {
    load({ Save: "儲存", "{count} query": "{count} 次查詢", "Delete “{name}”?": "刪除「{name}」？" });
    assert.equal(gettext("Save"), "儲存");
    assert.equal(gettext("Delete “{name}”?", { name: "A" }), "刪除「A」？");
    assert.equal(ngettext("{count} query", "{count} queries", 1), "1 次查詢");
    assert.equal(ngettext("{count} query", "{count} queries", 5), "5 次查詢");
  });
  test("hold elements where the sentence has them", () => {
    freshPage();
    load({ "Try {link}, please.": "請{link}。" });
    const sentence = h("p");
    append(sentence, gettextWith("Try {link}, please.", { link: h("a", { href: "/" }, "重試") }));
    assert.equal(sentence.textContent, "請重試。");
    assert.equal(sentence.querySelector("a").textContent, "重試");
  });
});
