import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { freshPage, serve } from "./page.js";
import { site } from "./site.js";

const { PagedRows } = await site("paged.js");

const page = (ids, next = null, count = ids.length) => ({ results: [...ids].map((id) => ({ id })), next, count });
const ids = (list) => list.rows.map(({ id }) => id).join("");
/** An answer that comes when the test says so. */
function late() {
  let answer;
  const given = new Promise((resolve) => { answer = resolve; });
  return { given: () => given, answer };
}

beforeEach(() => freshPage());

describe("a list in pages", () => {
  const ANSWERS = { "GET /x": page("ab", "https://inside/x?page=2", 3), "GET /x?page=2": page("bc", null, 3) };

  test("begins with the first and goes on behind it, each row once", async () => {
    serve(ANSWERS);
    const list = new PagedRows();
    assert.equal(await list.load("/x"), true);
    assert.deepEqual([ids(list), list.next !== null, list.total], ["ab", true, 3]);
    assert.equal(await list.more(), true);
    assert.deepEqual([ids(list), list.next, list.total], ["abc", null, 3]);
  });
  for (const [name, answer] of [["answer", page("a")], ["error", [503, {}]]]) {
    test(`drops an ${name} to what was asked before`, async () => {
      const slow = late();
      serve({ "GET /old": slow.given, "GET /new": page("n") });
      const list = new PagedRows();
      const old = list.load("/old");
      await list.load("/new");
      slow.answer(answer);
      assert.equal(await old, false);
      assert.equal(ids(list), "n");
    });
  }
  test("keeps what there is where a call fails, and says so", async () => {
    serve({ "GET /x": page("a", "/y") });
    const list = new PagedRows();
    await list.load("/x");
    await assert.rejects(list.more(), { code: "network" });
    assert.equal(ids(list), "a");
  });
});
