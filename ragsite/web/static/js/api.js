// Calls of the site's own API. Errors come as ApiError with a sentence for people.

export class ApiError extends Error {
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
  return cookie ? decodeURIComponent(cookie.slice(10)) : document.querySelector('meta[name="csrf-token"]').content;
}

export function errorFrom(status, body, retryAfter) {
  const error = body && body.error;
  if (status === 401 || (status === 403 && error && error.code === "not_authenticated")) {
    return new ApiError(status, "not_authenticated", "You have been signed out. Reload the page and sign in again.");
  }
  if (error) return new ApiError(status, error.code, withFields(error), error.fields, retryAfter);
  return new ApiError(status, "unexpected", `The site answered with an error (${status}). Try again in a moment.`);
}

function withFields(error) {
  const details = Object.values(error.fields || {}).flat(Infinity).filter((text) => typeof text === "string");
  return error.code === "invalid" && details.length ? details.join(" ") : error.message;
}

export async function request(method, url, { body, headers = {}, ...options } = {}) {
  const init = { method, credentials: "same-origin", headers: { Accept: "application/json", ...headers }, ...options };
  if (method !== "GET") init.headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "network", "The site cannot be reached. Check the connection and try again.");
  }
  if (!response.ok) {
    const failed = await response.json().catch(() => null);
    throw errorFrom(response.status, failed, response.headers.get("Retry-After"));
  }
  return response;
}

const json = async (response) => (response.status === 204 ? null : (await response).json());

export const api = {
  get: async (url, options) => json(await request("GET", url, options)),
  post: async (url, body) => json(await request("POST", url, { body: body ?? {} })),
  patch: async (url, body) => json(await request("PATCH", url, { body })),
  put: async (url, body) => json(await request("PUT", url, { body })),
  delete: async (url, options) => {
    await request("DELETE", url, options);
  },
};

/** One multipart upload with progress: `onprogress(0..1)`. Resolves with the JSON body. */
export function upload(url, form, onprogress) {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open("POST", url);
    call.setRequestHeader("X-CSRFToken", csrfToken());
    call.setRequestHeader("Accept", "application/json");
    call.upload.addEventListener("progress", (event) => event.lengthComputable && onprogress(event.loaded / event.total));
    call.addEventListener("error", () => reject(new ApiError(0, "network", "The connection broke during the upload. Try again.")));
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

/** Every page of a paged list. `limit` bounds the number of rows. */
export async function fetchAll(url, limit = 500) {
  const rows = [];
  let next = url;
  while (next && rows.length < limit) {
    const page = await api.get(next);
    rows.push(...page.results);
    next = page.next && samePath(page.next);
  }
  return rows;
}

/** A paging link's path and query: behind a proxy its host may not be ours. */
export function samePath(link) {
  const url = new URL(link, location.origin);
  return url.pathname + url.search;
}
