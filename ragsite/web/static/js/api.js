// Calls of the site's own API. Errors come as ApiError with a sentence for people.
import { query } from "./dom.js";
import { gettext } from "./i18n.js";

export class ApiError extends Error {
  /**
   * @param {number} status 0: no answer at all
   * @param {string} code
   * @param {string} message
   * @param {Record<string, unknown>} fields
   * @param {string | null} retryAfter
   */
  constructor(status, code, message, fields = {}, retryAfter = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
    this.retryAfter = retryAfter;
  }
}

export function csrfToken() {
  const cookie = document.cookie.split("; ").find((part) => part.startsWith("csrftoken="));
  return cookie ? decodeURIComponent(cookie.slice(10)) : query(document, 'meta[name="csrf-token"]', HTMLMetaElement).content;
}

/** @param {number} status @param {Api.ErrorBody | null} body @param {string | null} [retryAfter] */
export function errorFrom(status, body, retryAfter) {
  const error = body?.error;
  if (status === 401 || (status === 403 && error?.code === "not_authenticated")) {
    return new ApiError(status, "not_authenticated", gettext("You have been signed out. Reload the page and sign in again."));
  }
  if (error) return new ApiError(status, error.code, withFields(error), error.fields, retryAfter);
  return new ApiError(status, "unexpected", gettext("The site answered with an error ({status}). Try again in a moment.", { status }));
}

/** All texts of a nested object: a list's errors come by its items' numbers. @param {unknown} value @returns {string[]} */
const sentences = (value) => (typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(sentences));

/** @param {NonNullable<Api.ErrorBody["error"]>} error */
function withFields(error) {
  const details = sentences(error.fields);
  return error.code === "invalid" && details.length ? details.join(" ") : error.message;
}

/** @typedef {{body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, keepalive?: boolean}} RequestOptions */

/**
 * @param {"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} method
 * @param {string} url
 * @param {RequestOptions} options `body` is sent as JSON
 * @returns {Promise<Response>} one of success
 * @throws {ApiError}
 */
export async function request(method, url, { body, headers, ...options } = {}) {
  /** @type {Record<string, string>} */
  const sent = { Accept: "application/json", ...headers };
  if (method !== "GET") sent["X-CSRFToken"] = csrfToken();
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method, credentials: "same-origin", headers: sent, body: body === undefined ? undefined : JSON.stringify(body), ...options });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new ApiError(0, "network", gettext("The site cannot be reached. Check the connection and try again."));
  }
  if (!response.ok) {
    const failed = await response.json().catch(() => null);
    throw errorFrom(response.status, failed, response.headers.get("Retry-After"));
  }
  return response;
}

/**
 * The body of the answer; null where it has none.
 * @param {Parameters<typeof request>[0]} method
 * @returns {(url: string, body?: unknown) => Promise<any>}
 */
const call = (method) => async (url, body) => {
  const response = await request(method, url, { body });
  return response.status === 204 ? null : response.json();
};

export const api = { get: call("GET"), post: call("POST"), patch: call("PATCH"), put: call("PUT"), delete: call("DELETE") };

/**
 * One multipart upload. Resolves with the JSON body.
 * @param {string} url
 * @param {FormData} form
 * @param {(share: number) => void} onprogress 0 to 1
 * @param {AbortSignal} [signal] breaks it off, with an AbortError
 * @returns {Promise<any>}
 */
export function upload(url, form, onprogress, signal) {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    signal?.addEventListener("abort", () => {
      call.abort();
      reject(new DOMException("", "AbortError"));
    });
    call.open("POST", url);
    call.setRequestHeader("X-CSRFToken", csrfToken());
    call.setRequestHeader("Accept", "application/json");
    call.upload.addEventListener("progress", (event) => event.lengthComputable && onprogress(event.loaded / event.total));
    call.addEventListener("error", () => reject(new ApiError(0, "network", gettext("The connection broke during the upload. Try again."))));
    call.addEventListener("load", () => {
      let body = null;
      try {
        body = JSON.parse(call.responseText);
      } catch {
        body = null;
      }
      if (call.status >= 200 && call.status < 300 && body) resolve(body);
      else reject(errorFrom(call.status, body, call.getResponseHeader("Retry-After")));
    });
    call.send(form);
  });
}

/**
 * Every page of a paged list; reading ends with the page on which `limit` rows are reached.
 * @param {string} url
 * @returns {Promise<any[]>}
 */
export async function fetchAll(url, limit = 500) {
  const rows = [];
  /** @type {string | null} */
  let next = url;
  while (next && rows.length < limit) {
    const page = await api.get(next);
    rows.push(...page.results);
    next = page.next && samePath(page.next);
  }
  return rows;
}

/** A paging link's path and query: behind a proxy its host may not be ours. @param {string} link */
export function samePath(link) {
  const url = new URL(link, location.origin);
  return url.pathname + url.search;
}
