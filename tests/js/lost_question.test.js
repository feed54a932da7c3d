// Whether the site has a question whose connection broke before that was said.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { freshPage, serve, settled } from "./page.js";
import { site } from "./site.js";

const { lookFor } = await site("chat/lost_question.js");

const NOW = Date.parse("2026-05-04T10:00:00Z");
const WORDS = "How many books?";
const SEARCH = "GET /api/sessions?search=How+many+books%3F";
const messages = (id) => `GET /api/sessions/${id}/messages?newest_first=true&page_size=20`;
const asked = (id, text = WORDS) => ({ role: "user", message_id: id, text });
const answer = (id, replyTo) => ({ role: "assistant", message_id: id, reply_to: replyTo, status: "streaming", workflow: "corrective" });
const session = (id, created) => ({ id, created_at: created });
const page = (...results) => ({ results, next: null });
/** As the site tells its own time. */
const at = (time, body) => () => new Response(JSON.stringify(body), { headers: { Date: new Date(time).toUTCString() } });
const started = (id, message, question) => ({ type: "started", seq: 0, session_id: id, message_id: message, user_message_id: question, workflow: "corrective" });

beforeEach(() => freshPage());

/** What is found of a question that was asked a minute ago; `ms` pass while it is looked for. */
async function found(t, answers, { sessionId = null, knows = () => false, isWaiting = () => true, ms = 10_000, away = () => {} } = {}) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: NOW });
  const calls = serve(answers);
  const given = {};
  lookFor({ message: WORDS, session_id: sessionId }, { askedAt: NOW - 60_000, knows, isWaiting, away }).then(
    (result) => Object.assign(given, { result }), (error) => Object.assign(given, { error }),
  );
  for (let passed = 0; passed <= ms; passed += 500) {
    for (let turn = 0; turn < 6; turn += 1) await settled();
    t.mock.timers.tick(500);
  }
  return { ...given, calls: calls.map(({ call }) => call) };
}

describe("a conversation's first question", () => {
  test("is found in the conversation that it began", async (t) => {
    const { result, calls } = await found(t, {
      [SEARCH]: at(NOW, page(session("s", "2026-05-04T09:59:01Z"))), [messages("s")]: page(answer("m", "u"), asked("u")),
    });
    assert.deepEqual([result, calls.length], [started("s", "m", "u"), 2]);
  });
  test("is not the one of an older conversation in the same words", async (t) => {
    const { result } = await found(t, {
      [SEARCH]: at(NOW, page(session("s", "2026-05-04T09:58:00Z"))), [messages("s")]: page(answer("m", "u"), asked("u")),
    });
    assert.equal(result, null);
  });
  test("goes by the site's clock, not by the browser's", async (t) => {
    const hour = 3_600_000;
    const { result } = await found(t, {
      [SEARCH]: at(NOW - hour, page(session("s", "2026-05-04T08:59:01Z"))), [messages("s")]: page(answer("m", "u"), asked("u")),
    });
    assert.deepEqual(result, started("s", "m", "u"));
  });
  test("is looked for again a few times, as it may be on its way into the site", async (t) => {
    let looks = 0;
    const { result } = await found(t, {
      [SEARCH]: () => at(NOW, (looks += 1) < 3 ? page() : page(session("s", "2026-05-04T09:59:01Z")))(), [messages("s")]: page(answer("m", "u"), asked("u")),
    });
    assert.deepEqual([result, looks], [started("s", "m", "u"), 3]);
  });
  test("of a conversation that files are attached to may have begun none", async (t) => {
    const { result } = await found(t, { [messages("s")]: [404, { error: { code: "not_found", message: "No." } }] }, { sessionId: "s" });
    assert.equal(result, null);
  });
});

describe("a later question", () => {
  const rows = page(answer("m2", "u2"), asked("u2"), answer("m", "u"), asked("u"));
  test("is found in its conversation", async (t) => {
    const { result } = await found(t, { [messages("s")]: rows }, { sessionId: "s", knows: (id) => id === "u" });
    assert.deepEqual(result, started("s", "m2", "u2"));
  });
});

describe("while the site cannot be reached", () => {
  for (const [name, broken] of [["no connection", () => { throw new TypeError("network"); }], ["a proxy alone", () => [502, {}]]]) {
    test(`${name}: it is said, and looked for until the site answers`, async (t) => {
      let looks = 0;
      let away = 0;
      const { result } = await found(t, {
        [messages("s")]: () => ((looks += 1) < 6 ? broken() : page(answer("m", "u"), asked("u"))),
      }, { sessionId: "s", ms: 60_000, away: () => { away += 1; } });
      assert.deepEqual([result, looks, away], [started("s", "m", "u"), 6, 5]);
    });
  }
  test("nothing is looked for once the page has gone elsewhere", async (t) => {
    let waiting = true;
    const { result, calls } = await found(t, { [messages("s")]: () => { waiting = false; return [502, {}]; } }, { sessionId: "s", isWaiting: () => waiting });
    assert.deepEqual([result, calls.length], [null, 1]);
  });
});

test("who has been signed out is told so", async (t) => {
  const { error, calls } = await found(t, { [messages("s")]: [401, {}] }, { sessionId: "s" });
  assert.match(error.message, /^You have been signed out/);
  assert.equal(calls.length, 1);
});
