// Whether the site has a question whose connection broke before that was said. Loaded when a question is sent: without
// a connection it could not be.
import { ApiError, request } from "../api.js";
import { History } from "./history.js";

const LOOKS = 3; // of a site that answers: the question may still be on its way into it
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;
const CLOCKS_DIFFER_MS = 5000; // of the processes of one site, and what `Date` leaves out
const SEARCHED_CHARS = 60;

/**
 * The event that was missed; null: the site has not got the question. An error says why that cannot be known.
 * @param {Api.Ask} ask
 * @param {object} how
 * @param {number} how.askedAt by this browser's clock
 * @param {(questionId: Api.Id) => boolean} how.knows whether the page shows this question, which is then another one
 * @param {() => boolean} how.isWaiting whether anybody still wants to know
 * @param {() => unknown} how.away the site cannot be reached; it is tried again
 * @returns {Promise<Extract<Api.Event, {type: "started"}> | null>}
 */
export async function lookFor({ message, session_id: sessionId }, { askedAt, knows, isWaiting, away }) {
  for (let looks = 0, waitMs = FIRST_WAIT_MS; isWaiting(); waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      for (const id of sessionId ? [sessionId] : await begunSince(askedAt, message)) {
        const found = await questionIn(id, message, knows);
        if (found) return found;
      }
      looks += 1;
      if (looks === LOOKS) return null;
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status > 0 && error.status < 500)) throw error;
      away();
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  return null;
}

/** Conversations with these words that are no older than the question. @param {number} askedAt @param {string} message */
async function begunSince(askedAt, message) {
  const words = new URLSearchParams({ search: [...message].slice(0, SEARCHED_CHARS).join("") });
  const response = await request("GET", `/api/sessions?${words}`);
  const clock = Date.parse(response.headers.get("Date") || "") || Date.now();
  const since = askedAt + clock - Date.now() - CLOCKS_DIFFER_MS;
  /** @type {Api.Page<Api.Session>} */
  const { results } = await response.json();
  return results.filter((session) => Date.parse(session.created_at) >= since).map(({ id }) => id);
}

/** @param {Api.Id} sessionId @param {string} message @param {(questionId: Api.Id) => boolean} knows */
async function questionIn(sessionId, message, knows) {
  let rows;
  try {
    rows = await new History(sessionId).newest();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null; // files alone so far
    throw error;
  }
  for (const row of rows) {
    if (row.role !== "assistant" || !row.reply_to || knows(row.reply_to)) continue;
    const asked = rows.find(({ message_id: id }) => id === row.reply_to);
    if (asked?.role !== "user" || asked.text !== message) continue;
    return { type: /** @type {const} */ ("started"), seq: 0, session_id: sessionId, message_id: row.message_id, user_message_id: row.reply_to, workflow: row.workflow };
  }
  return null;
}
