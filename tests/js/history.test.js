// A conversation's messages, from its end.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { freshPage, serve } from "./page.js";
import { site } from "./site.js";

const { History } = await site("chat/history.js");
const ADDRESS = "/api/sessions/s/messages?newest_first=true";
const rows = (...ids) => ids.map((id) => ({ message_id: id }));
const ids = (messages) => messages.map(({ message_id: id }) => id);

beforeEach(() => freshPage());

describe("a long conversation", () => {
  const pages = {
    [`GET ${ADDRESS}&page_size=20`]: { results: rows("e", "d"), next: "http://x/api/ignored" },
    [`GET ${ADDRESS}&page_size=60`]: { results: rows("f", "e", "d", "c"), next: `http://inside:8000${ADDRESS}&page=2&page_size=60` },
    [`GET ${ADDRESS}&page=2&page_size=60`]: { results: rows("b", "a"), next: null },
  };
  test("comes from its end, in its order, nothing twice", async () => {
    serve(pages);
    const history = new History("s");
    assert.deepEqual([ids(await history.before()), history.hasMore], [["d", "e"], true]);
    assert.deepEqual(ids(await history.before()), ["c"]); // "f" was asked meanwhile
    assert.deepEqual([ids(await history.before()), history.hasMore], [["a", "b"], false]);
    assert.deepEqual(await history.before(), []);
  });
  test("comes as far as the message that is looked for", async () => {
    serve(pages);
    assert.deepEqual(ids(await new History("s").newest("d")), ["d", "e"]);
    assert.ok(ids(await new History("s").newest("a")).includes("a"));
    assert.equal((await new History("s").newest("not there")).length, 5);
  });
});
