import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { freshPage, serve, settled } from "./page.js";
import { site } from "./site.js";

const { serverSentEvents, Transport } = await site("chat/transport.js");

class Socket extends EventTarget {
  static OPEN = 1;
  static made = [];
  readyState = 0;
  sent = [];

  constructor(url) {
    super();
    this.url = url;
    Socket.made.push(this);
  }

  static get last() {
    return Socket.made.at(-1);
  }

  opens() {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }

  drops(code = 1006) {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }

  close() {
    this.readyState = 3;
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  says(event) {
    this.dispatchEvent(Object.assign(new Event("message"), { data: JSON.stringify(event) }));
  }
}

const started = { type: "started", seq: 1, message_id: "m", session_id: "s", user_message_id: "u" };
const chunk = (seq, content = `${seq}`) => ({ type: "chunk", seq, message_id: "m", content });
const done = (seq) => ({ type: "done", seq, message_id: "m", done: true, message: {} });
const question = { message: "How long?", session_id: "s", workflow: "corrective" };

/** A transport whose socket is open, and what it has told. Time stands still but for `t.mock.timers`. */
function opened(t, { sessionId = "s", open = true } = {}) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.mock.method(Math, "random", () => 0.5); // no jitter
  globalThis.WebSocket = Socket;
  Socket.made = [];
  const told = { events: [], states: [], lost: [] };
  const transport = new Transport({
    onEvent: (event) => told.events.push(event), onState: (state) => told.states.push(state), onLostAsk: (payload) => told.lost.push(payload),
  });
  transport.open(sessionId);
  if (open) Socket.last.opens();
  return { transport, told };
}

/** A stream of Server-Sent Events in these pieces; `breaks`: it ends with an error. */
function stream(pieces, { breaks = false } = {}) {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      if (breaks) controller.error(new TypeError("network"));
      else controller.close();
    },
  });
}
const sse = (...events) => new Response(stream(events.map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`)));

async function passes(t, ms) {
  await settled();
  t.mock.timers.tick(ms);
  for (let turn = 0; turn < 5; turn += 1) await settled();
}

beforeEach(() => freshPage());

describe("the socket's address", () => {
  for (const [sessionId, url] of [["s", "wss://site.test/ws/chat/s/"], [null, "wss://site.test/ws/chat/"]]) {
    test(url, (t) => {
      opened(t, { sessionId });
      assert.equal(Socket.last.url, url);
    });
  }
});

describe("events", () => {
  test("are handed on in order, each once", (t) => {
    const { told } = opened(t);
    for (const event of [started, chunk(2), chunk(2), started, chunk(3), done(4), done(4), chunk(3)]) Socket.last.says(event);
    assert.deepEqual(told.events.map(({ seq }) => seq), [1, 2, 3, 4]);
  });
  test("after a gap are asked for again, from the last one known", (t) => {
    const { told } = opened(t);
    for (const event of [started, chunk(3)]) Socket.last.says(event);
    assert.deepEqual(told.events.map(({ seq }) => seq), [1]);
    assert.deepEqual(Socket.last.sent, [{ type: "resume", message_id: "m", after: 1 }]);
    for (const event of [chunk(2), chunk(3)]) Socket.last.says(event);
    assert.deepEqual(told.events.map(({ seq }) => seq), [1, 2, 3]);
  });
});

describe("a question", () => {
  test("goes over the open socket", async (t) => {
    const { transport } = opened(t);
    await transport.ask(question);
    assert.deepEqual(Socket.last.sent, [{ type: "ask", ...question }]);
  });
  test("goes over HTTP when no socket opens in 4 s", async (t) => {
    const calls = serve({ "POST /api/chat": () => sse(started, chunk(2), done(3)) });
    const { transport, told } = opened(t, { open: false });
    transport.ask(question);
    await passes(t, 3950);
    assert.equal(calls.length, 0);
    await passes(t, 100);
    assert.deepEqual(calls.map(({ call, body }) => [call, body]), [["POST /api/chat", { ...question, stream: true }]]);
    assert.deepEqual(told.events.map(({ type }) => type), ["started", "chunk", "done"]);
  });
  test("that the server had not confirmed is told of when the socket drops", async (t) => {
    const { transport, told } = opened(t);
    await transport.ask(question);
    Socket.last.drops();
    assert.deepEqual(told.lost, [question]);
  });
  for (const [name, broken] of [
    ["cannot be sent", () => { throw new TypeError("network"); }],
    ["breaks off before its first event", () => new Response(stream([": still here\n\n"], { breaks: true }))],
    ["ends before its first event", () => sse()],
  ]) test(`over HTTP that ${name} is told of`, async (t) => {
    serve({ "POST /api/chat": broken });
    const { transport, told } = opened(t);
    transport.http = true;
    Socket.last.readyState = 3;
    transport.ask(question);
    await passes(t, 0);
    assert.deepEqual([told.lost, told.events], [[question], []]);
  });
});

describe("a socket that drops", () => {
  test("is opened again, and answers under way go on where they were", (t) => {
    const { told } = opened(t);
    for (const event of [started, chunk(2)]) Socket.last.says(event);
    Socket.last.drops();
    t.mock.timers.tick(1000);
    Socket.last.opens();
    assert.equal(Socket.made.length, 2);
    assert.deepEqual(Socket.last.sent, [{ type: "resume", message_id: "m", after: 2 }]);
    assert.deepEqual(told.states, ["open", "lost", "open"]);
  });
  test("is tried at longer and longer intervals, of 10 s at most, while the browser has no network", (t) => {
    opened(t);
    navigator.onLine = false;
    const waits = [];
    for (let failure = 0; failure < 7; failure += 1) {
      const before = Socket.made.length;
      Socket.last.drops();
      for (let ms = 0; Socket.made.length === before; ms += 500) {
        t.mock.timers.tick(500);
        if (Socket.made.length > before) waits.push(ms + 500);
      }
    }
    assert.deepEqual(waits, [1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
  });
  test("for the third time in a row gives way to HTTP, where answers go on", async (t) => {
    const calls = serve({ "GET /api/messages/m/events": () => sse(chunk(2), done(3)) });
    const { told } = opened(t);
    Socket.last.says(started);
    for (const wait of [1000, 2000, 0]) {
      Socket.last.drops();
      t.mock.timers.tick(wait);
    }
    await passes(t, 0);
    assert.equal(told.states.at(-1), "http");
    assert.equal(calls[0].headers["Last-Event-ID"], "1");
    assert.deepEqual(told.events.map(({ seq }) => seq), [1, 2, 3]);
  });
});

describe("a session that has ended", () => {
  test("is told of, and not tried again", async (t) => {
    serve({ "GET /api/status": [401, {}] });
    const { told } = opened(t);
    Socket.last.drops(4401);
    await passes(t, 0);
    assert.equal(told.states.at(-1), "signed-out");
    await passes(t, 20_000);
    assert.equal(Socket.made.length, 1);
  });
});

describe("stopping", () => {
  test("goes over the socket where it is open", async (t) => {
    const { transport } = opened(t);
    await transport.stop("m");
    assert.deepEqual(Socket.last.sent, [{ type: "stop", message_id: "m" }]);
  });
  test("goes over HTTP where it is not", async (t) => {
    const calls = serve({ "POST /api/messages/m/stop": {} });
    const { transport } = opened(t, { open: false });
    await transport.stop("m");
    assert.equal(calls.length, 1);
  });
});

describe("over HTTP", () => {
  test("a stream that breaks off is read on from its last event, after a moment", async (t) => {
    const half = [started, chunk(2)].map((event) => `data: ${JSON.stringify(event)}\n\n`);
    const calls = serve({
      "POST /api/messages/old/regenerate": () => new Response(stream(half)),
      "GET /api/messages/m/events": () => sse(chunk(3), done(4)),
    });
    const { transport, told } = opened(t);
    await transport.again("old", "regenerate");
    await passes(t, 0);
    assert.deepEqual(calls.map(({ call }) => call), ["POST /api/messages/old/regenerate", "GET /api/messages/m/events"]);
    assert.equal(calls[1].headers["Last-Event-ID"], "2");
    assert.deepEqual(told.events.map(({ seq }) => seq), [1, 2, 3, 4]);
  });
  test("a refusal ends the answer with its sentence", async (t) => {
    serve({ "POST /api/messages/old/regenerate": [409, { error: { code: "busy", message: "Wait." } }] });
    const { transport, told } = opened(t);
    assert.equal(await transport.again("old", "regenerate"), true);
    assert.deepEqual(told.events, [{ type: "error", message_id: null, code: "busy", content: "Wait.", done: true }]);
  });
});

describe("server-sent events", () => {
  const read = async (...pieces) => {
    const events = [];
    for await (const event of serverSentEvents(stream(pieces))) events.push(event);
    return events;
  };
  const utf8 = new TextEncoder().encode('data: "é"\n\n');
  const cases = [
    ["one after the other", ["id: 1\ndata: 1\n\ndata: 2\n\n"], [1, 2]],
    ["cut anywhere", ["da", "ta: {\"a\"", ": 1}\n", "\n"], [{ a: 1 }]],
    ["with CRLF, cut between", ["data: 1\r", "\n\r\ndata: 2\r\n\r\n"], [1, 2]],
    ["of several lines", ["data: [1,\ndata: 2]\n\n"], [[1, 2]]],
    ["comments are none", [": still here\n\ndata: 1\n\n"], [1]],
    ["characters cut in their bytes", [utf8.slice(0, 8), utf8.slice(8)], ["é"]],
    ["what is unfinished at the end is none", ["data: 1\n\ndata: 2"], [1]],
  ];
  for (const [name, pieces, events] of cases) test(name, async () => assert.deepEqual(await read(...pieces), events));
});

describe("an answer that goes on", () => {
  test("is told anew, from its first event", (t) => {
    const { told } = opened(t);
    for (const event of [started, chunk(2), done(3), started, chunk(2, "more"), done(3)]) Socket.last.says(event);
    assert.deepEqual(told.events.map(({ type, content }) => content ?? type), ["started", "2", "done", "started", "more", "done"]);
  });
  test("is asked for by its own address, and so is an edited question", async (t) => {
    const { transport } = opened(t);
    const calls = serve({ "POST /api/messages/m/continue": () => sse(started, done(2)), "POST /api/messages/u/edit": () => sse({ ...started, message_id: "n" }, { ...done(2), message_id: "n" }) });
    await transport.again("m", "continue");
    await transport.again("u", "edit", { message: "Why?" });
    assert.deepEqual(calls.map(({ body }) => body), [{ stream: true }, { message: "Why?", stream: true }]);
  });
});
