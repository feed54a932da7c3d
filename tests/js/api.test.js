import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { freshPage, serve } from "./page.js";
import { site } from "./site.js";

const { api, ApiError, errorFrom, fetchAll, upload } = await site("api.js");

beforeEach(() => freshPage());

describe("an error in words", () => {
  const SIGNED_OUT = "You have been signed out. Reload the page and sign in again.";
  const cases = [
    ["the site's own sentence", 404, { error: { code: "not_found", message: "It is not there." } }, "not_found", "It is not there."],
    ["what is wrong with each field", 400, { error: { code: "invalid", message: "Bad.", fields: { title: ["Too long."], tags: { 0: ["Odd."] } } } }, "invalid", "Too long. Odd."],
    ["fields of another error are left out", 409, { error: { code: "conflict", message: "Taken.", fields: { name: ["x"] } } }, "conflict", "Taken."],
    ["invalid without fields", 400, { error: { code: "invalid", message: "Bad.", fields: {} } }, "invalid", "Bad."],
    ["signed out, by 401", 401, null, "not_authenticated", SIGNED_OUT],
    ["signed out, by 403", 403, { error: { code: "not_authenticated", message: "?" } }, "not_authenticated", SIGNED_OUT],
    ["forbidden is not signed out", 403, { error: { code: "forbidden", message: "Not yours." } }, "forbidden", "Not yours."],
    ["a page of a proxy", 502, null, "unexpected", "The site answered with an error (502). Try again in a moment."],
  ];
  for (const [name, status, body, code, message] of cases) {
    test(name, () => {
      const error = errorFrom(status, body);
      assert.deepEqual([error.status, error.code, error.message], [status, code, message]);
    });
  }
});

describe("a call", () => {
  test("sends JSON with the token of the form", async () => {
    const calls = serve({ "POST /api/x": { id: 1 } });
    assert.deepEqual(await api.post("/api/x", { a: 1 }), { id: 1 });
    assert.deepEqual(calls[0].body, { a: 1 });
    assert.deepEqual(calls[0].headers, { Accept: "application/json", "X-CSRFToken": "the-token", "Content-Type": "application/json" });
  });
  test("that fails throws the site's sentence and when to try again", async () => {
    const body = JSON.stringify({ error: { code: "throttled", message: "Slow down." } });
    serve({ "GET /api/x": () => new Response(body, { status: 429, headers: { "Retry-After": "7" } }) });
    await assert.rejects(api.get("/api/x"), { code: "throttled", message: "Slow down.", status: 429, retryAfter: "7" });
  });
  test("that nothing answers is a network error", async () => {
    serve({});
    await assert.rejects(api.get("/api/x"), (error) => error instanceof ApiError && error.status === 0 && error.code === "network");
  });
});

describe("a paged list", () => {
  const page = (results, next = null) => ({ results, next });

  test("is read to its end, at the address that we have", async () => {
    const calls = serve({ "GET /api/x": page([1, 2], "http://inside:8000/api/x?page=2"), "GET /api/x?page=2": page([3]) });
    assert.deepEqual(await fetchAll("/api/x"), [1, 2, 3]);
    assert.equal(calls.length, 2);
  });
});

describe("an upload", () => {
  class Call extends EventTarget {
    static last;
    upload = new EventTarget();
    headers = {};

    open(method, url) {
      this.opened = `${method} ${url}`;
    }

    setRequestHeader(name, value) {
      this.headers[name] = value;
    }

    getResponseHeader() {
      return null;
    }

    send(form) {
      this.form = form;
      Call.last = this;
    }

    answer(status, text) {
      Object.assign(this, { status, responseText: text });
      this.dispatchEvent(new Event("load"));
    }
  }

  beforeEach(() => {
    globalThis.XMLHttpRequest = Call;
  });

  test("tells its progress and resolves with the body", async () => {
    const shares = [];
    const sent = upload("/api/documents", "form", (share) => shares.push(share));
    const call = Call.last;
    call.upload.dispatchEvent(Object.assign(new Event("progress"), { lengthComputable: true, loaded: 1, total: 4 }));
    call.upload.dispatchEvent(Object.assign(new Event("progress"), { lengthComputable: false, loaded: 2, total: 0 }));
    call.answer(202, '{"documents": []}');
    assert.deepEqual(await sent, { documents: [] });
    assert.deepEqual(shares, [0.25]);
    assert.equal(call.headers["X-CSRFToken"], "the-token");
  });
  test("that is refused says why", async () => {
    const sent = upload("/api/documents", "form", () => {});
    Call.last.answer(413, '{"error": {"code": "too_large", "message": "Split it."}}');
    await assert.rejects(sent, { status: 413, message: "Split it." });
  });
  test("whose connection breaks is a network error", async () => {
    const sent = upload("/api/documents", "form", () => {});
    Call.last.dispatchEvent(new Event("error"));
    await assert.rejects(sent, { status: 0, code: "network" });
  });
});
