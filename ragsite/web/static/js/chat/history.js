// A conversation's messages, from its end: what is read first comes first, and a long one opens as fast as a short one.
import { api, samePath } from "../api.js";

const NEWEST = 20; // messages that fill a screen several times
const EARLIER = 60; // messages a page after that

export class History {
  /** @param {Api.Id} id of the session */
  constructor(id) {
    this.address = `/api/sessions/${id}/messages?newest_first=true`;
    /** @type {string | null} the next page; null: there is none */
    this.next = `${this.address}&page_size=${NEWEST}`;
    /** @type {Set<Api.Id>} what was given out; pages move on when something is asked meanwhile */
    this.given = new Set();
  }

  /** Whether there is more before what was given out. */
  get hasMore() {
    return this.next !== null;
  }

  /** The messages before those that were given out, oldest first. @returns {Promise<Api.Message[]>} */
  async before() {
    if (!this.next) return [];
    const isFirst = !this.given.size;
    const page = await api.get(this.next);
    this.next = page.next && (isFirst ? `${this.address}&page_size=${EARLIER}` : samePath(page.next));
    /** @type {Api.Message[]} */
    const results = page.results;
    const rows = results.slice(results.findLastIndex(({ message_id: id }) => this.given.has(id)) + 1); // above these is what came meanwhile
    for (const { message_id: id } of rows) this.given.add(id);
    return rows.reverse();
  }

  /** The newest messages, and as many before them as it takes to hold `at`. @param {Api.Id} [at] */
  async newest(at) {
    let messages = await this.before();
    while (at && this.next && !this.given.has(at)) messages = [...(await this.before()), ...messages];
    return messages;
  }
}
