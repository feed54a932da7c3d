// Events of answers, over the WebSocket, and over HTTP (Server-Sent Events) where a socket cannot be opened.
// Closing either does not stop an answer: what was missed is asked for again by its number.
import { api, ApiError, request } from "../api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const OPEN_WAIT_MS = 4_000;
const PING_MS = 25_000;
const FAILURES_BEFORE_HTTP = 3;
const SIGNED_OUT = 4401;
const RESTARTING = 1012;
const LEAVE_WITHIN_MS = 400; // all pages of a machine that is restarted, spread a little
const CHAT = "/api/chat";

/**
 * What a question sends besides its type.
 * @typedef {Api.Ask | Api.SelfCorrectiveAsk} Payload
 */

/** @template {Payload} [Asked=Api.Ask] */
export class Transport {
  /**
   * @param {object} on
   * @param {(event: Api.Event) => unknown} on.onEvent gets every event once and in order
   * @param {(state: "open" | "lost" | "http" | "signed-out") => unknown} on.onState
   * @param {(payload: Asked) => unknown} on.onLostAsk the connection broke before this question was confirmed
   */
  constructor({ onEvent, onState, onLostAsk }) {
    this.onEvent = onEvent;
    this.onState = onState;
    this.onLostAsk = onLostAsk;
    /** @type {Map<Api.Id, number>} message id → number of the last event handed on, for answers under way */
    this.seen = new Map();
    /** @type {Set<Api.Id>} */
    this.finished = new Set();
    /** @type {Asked | null} a question that the server has not confirmed yet */
    this.asked = null;
    /** @type {Api.Id | null} */
    this.sessionId = null;
    this.closed = true;
    this.failures = 0;
    this.http = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {Map<string, AbortController>} */
    this.readers = new Map();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    addEventListener("online", () => this.reconnectNow());
    setInterval(() => this.send({ type: "ping" }), PING_MS);
  }

  /** @param {Api.Id | null} sessionId null: the first question makes one */
  open(sessionId) {
    this.close();
    this.sessionId = sessionId;
    this.closed = false;
    if (!this.http) this.connect();
  }

  close() {
    this.closed = true;
    this.asked = null;
    this.seen.clear();
    clearTimeout(this.timer);
    for (const reader of this.readers.values()) reader.abort();
    this.readers.clear();
    if (this.socket) this.socket.close();
    this.socket = null;
  }

  // ------------------------------------------------------------------------------------------- the socket
  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const path = this.sessionId ? `/ws/chat/${this.sessionId}/` : "/ws/chat/";
    const socket = new WebSocket(`${scheme}://${location.host}${path}`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      if (socket !== this.socket) return;
      this.failures = 0;
      this.onState("open");
      for (const [id, after] of this.seen) this.send({ type: "resume", message_id: id, after });
    });
    socket.addEventListener("message", (message) => {
      if (socket === this.socket) this.receive(JSON.parse(message.data));
    });
    socket.addEventListener("close", ({ code }) => {
      if (socket !== this.socket || this.closed) return;
      if (code === SIGNED_OUT) this.signedOut();
      else if (code === RESTARTING && !this.failures) this.moved();
      else this.dropped();
    });
  }

  /** The session of this socket has ended. The browser may have another one: a new password makes one. */
  async signedOut() {
    this.socket = null;
    try {
      await api.get("/api/status");
    } catch (error) {
      if (error instanceof ApiError && error.code === "not_authenticated") {
        this.onState("signed-out");
        return;
      }
    }
    if (!this.closed && !this.socket) this.dropped();
  }

  /** The machine is restarted, and another one goes on: nothing is lost. */
  moved() {
    this.socket = null;
    this.failures += 1;
    if (!this.readers.has(CHAT)) this.lose();
    this.timer = setTimeout(() => this.connect(), Math.random() * LEAVE_WITHIN_MS);
  }

  dropped() {
    this.socket = null;
    this.failures += 1;
    if (!this.readers.has(CHAT)) this.lose();
    if (this.failures >= FAILURES_BEFORE_HTTP && navigator.onLine) {
      this.http = true;
      this.onState("http");
      for (const id of this.seen.keys()) this.readEvents(id);
      return;
    }
    this.onState("lost");
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures) * (0.7 + Math.random() * 0.6);
    this.timer = setTimeout(() => this.connect(), wait);
  }

  lose() {
    const lost = this.asked;
    this.asked = null;
    if (lost) this.onLostAsk(lost);
  }

  reconnectNow() {
    if (this.closed || this.socket || this.http) return;
    clearTimeout(this.timer);
    this.connect();
  }

  /** False where it could not be sent. @param {object} message */
  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  // ------------------------------------------------------------------------------------------- what pages call
  /** @param {Asked} payload */
  async ask(payload) {
    if (!this.http && (await this.isOpen()) && this.send({ type: "ask", ...payload })) {
      this.asked = payload;
      return;
    }
    this.asked = payload;
    if (!(await this.readAnswer(CHAT, { method: "POST", body: { ...payload, stream: true } }))) this.lose();
  }

  /** Follow an answer that is already being written, from the start or from where this page left off. @param {Api.Id} messageId @param {number} after */
  follow(messageId, after = 0) {
    this.seen.set(messageId, after);
    if (this.http) this.readEvents(messageId);
    else this.send({ type: "resume", message_id: messageId, after });
  }

  /**
   * Have an answer written anew, an incomplete one go on, or a question asked in other words. The events come from the first.
   * @param {Api.Id} messageId @param {"regenerate" | "continue" | "edit"} how
   */
  again(messageId, how, body = {}) {
    return this.readAnswer(`/api/messages/${messageId}/${how}`, { method: "POST", body: { ...body, stream: true } });
  }

  /** @param {Api.Id} messageId */
  async stop(messageId) {
    if (!this.send({ type: "stop", message_id: messageId })) await api.post(`/api/messages/${messageId}/stop`, {});
  }

  /**
   * Whether the socket can be used, once that is certain.
   * @returns {Promise<boolean>}
   */
  async isOpen() {
    if (this.socket?.readyState === WebSocket.OPEN) return true;
    return new Promise((resolve) => {
      const began = Date.now();
      const look = setInterval(() => {
        const open = this.socket?.readyState === WebSocket.OPEN;
        if (!open && !this.http && Date.now() - began < OPEN_WAIT_MS) return;
        clearInterval(look);
        resolve(open);
      }, 50);
    });
  }

  /** @param {Api.Event | {type: "pong"}} event */
  receive(event) {
    if (event.type === "pong") return;
    const id = event.message_id;
    if (event.type === "started" || (event.type === "error" && !(id && this.seen.has(id)))) this.asked = null;
    if (!id || !event.seq) {
      this.onEvent(event);
      return;
    }
    if (event.type === "started" && event.seq === 1 && this.finished.delete(id)) this.seen.delete(id); // it goes on
    if (this.finished.has(id)) return;
    const last = this.seen.get(id) ?? 0;
    if (event.seq <= last) return;
    if (event.seq > last + 1 && !event.done) {
      // Something is missing in between: ask for it, and for this event again.
      this.follow(id, last);
      return;
    }
    this.seen.set(id, event.seq);
    if (event.done) {
      this.seen.delete(id);
      this.finished.add(id);
    }
    this.onEvent(event);
  }

  // ------------------------------------------------------------------------------------------- over HTTP
  /** @param {Api.Id} messageId */
  async readEvents(messageId) {
    if (this.readers.has(messageId)) return;
    let wait = FIRST_WAIT_MS;
    for (;;) {
      const after = this.seen.get(messageId);
      if (after === undefined || this.closed) return;
      const ended = await this.readAnswer(`/api/messages/${messageId}/events`, {
        method: "GET", headers: { "Last-Event-ID": String(after) }, messageId,
      });
      if (ended) return;
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }

  /**
   * Reads one stream to its end. False where it broke off and may be read again.
   * @param {string} url
   * @param {{method: "GET" | "POST", body?: unknown, headers?: Record<string, string>, messageId?: Api.Id | null}} options
   */
  async readAnswer(url, { method, body, headers = {}, messageId = null }) {
    const reader = new AbortController();
    const key = messageId ?? url;
    this.readers.set(key, reader);
    let current = messageId;
    try {
      const response = await request(method, url, { body, headers: { Accept: "text/event-stream", ...headers }, signal: reader.signal });
      for await (const event of serverSentEvents(/** @type {ReadableStream} */ (response.body))) {
        current = event.message_id ?? current;
        this.receive(event);
        if (event.done) return true;
      }
    } catch (error) {
      if (/** @type {Error} */ (error).name === "AbortError") return true;
      if (error instanceof ApiError && (error.status !== 0 || !(current || this.asked))) {
        if (messageId) this.seen.delete(messageId);
        this.asked = null;
        this.onEvent({ type: "error", message_id: messageId, code: error.code, content: error.message, done: true });
        return true;
      }
    } finally {
      this.readers.delete(key);
    }
    if (!messageId && current && this.seen.has(current)) this.readEvents(current);
    return false;
  }
}

/** The `data` of each event of a stream, parsed. @param {ReadableStream} stream @returns {AsyncGenerator<Api.Event>} */
export async function* serverSentEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer = (buffer + value).replaceAll("\r\n", "\n");
    const parts = buffer.split("\n\n");
    buffer = parts.pop() ?? "";
    for (const part of parts) {
      const data = part.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
      if (data.length) yield JSON.parse(data.join("\n"));
    }
  }
}
