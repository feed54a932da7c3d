// How a question is asked again whose answer was refused or broke off.

/** @typedef {{ id: Api.Id, request: Api.Again }} Rewriting an answer that is written again, and what is to be otherwise */

/**
 * The answer that is to be written again; null: there is none yet, so the question is asked for the first time.
 * @param {import("./answer.js").Answer} answer @param {Api.Again} [changes]
 * @returns {Rewriting | null}
 */
export function rewritingOf(answer, changes = {}) {
  if (answer.rewrites && !answer.id) return { id: answer.rewrites.id, request: { ...answer.rewrites.request, ...changes } };
  return answer.id ? { id: answer.id, request: changes } : null;
}
