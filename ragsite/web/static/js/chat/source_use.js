// Tells the site that a source was opened or copied from: weak evidence that it helped.
import { request } from "../api.js";

/** What has been told already. @type {Set<string>} */
const told = new Set();

/**
 * Nobody waits for it, and a failure is not shown: the reader has asked for nothing.
 * @param {Api.Id} messageId
 * @param {Api.Source} source
 * @param {"opened" | "copied"} action
 */
export function tellUse(messageId, { marker }, action) {
  const what = `${messageId} ${marker} ${action}`;
  if (told.has(what)) return;
  told.add(what);
  request("PUT", `/api/messages/${messageId}/sources/${marker}/use`, { body: { action }, keepalive: true })
    .catch(() => told.delete(what));
}
