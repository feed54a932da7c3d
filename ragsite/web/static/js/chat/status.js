// The banners: no connection, or answers without a model; and how far the reading of new documents is.
import { api } from "../api.js";
import { query } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";

const LOOK_AGAIN_MS = 60_000;
const LOOK_SOON_MS = 2_000; // while documents are being read, or the index is away or being filled
const LOOKS_AT_FIRST = 15; // where nothing can be asked yet, a new site may be about to read its samples

/**
 * @param {HTMLElement} banner @param {HTMLElement} reading
 * @param {{isEmpty?: boolean, onRead?: () => unknown}} [options] isEmpty: nothing can be asked yet; onRead: all has been read
 */
export function watchStatus(banner, reading, { isEmpty = false, onRead } = {}) {
  const text = query(banner, "[data-banner-text]");
  const models = query(banner, "[data-banner-models]"); // what the reader can do about it
  let connected = true;
  let signedOut = false;
  let looksAtFirst = isEmpty ? LOOKS_AT_FIRST : 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Api.Status | null} */
  let status = null;

  const show = () => {
    let message = "";
    models.hidden = true;
    if (signedOut) message = gettext("You have been signed out. Reload the page and sign in again.");
    else if (!navigator.onLine || !connected) message = gettext("No connection. An answer being written goes on, and appears here as soon as you are back.");
    else if (status && !status.online) {
      models.hidden = status.offline_forced;
      message = status.offline_forced
        ? gettext("Working without an AI model: answers are the passages that fit best.")
        : gettext("No AI model is connected: answers are the passages that fit best.");
    }
    const index = status && connected && !signedOut ? aboutIndex(status) : "";
    message = [message, index].filter(Boolean).join(" ");
    text.textContent = message;
    banner.title = status?.reason || "";
    banner.hidden = !message;
  };
  const showReading = () => {
    const { total, done } = status?.reading ?? { total: 0, done: 0 };
    const wasRead = !reading.hidden && !total;
    reading.hidden = !total;
    if (total) {
      query(reading, "[data-reading-text]").textContent = ngettext("{count} document is being read", "{count} documents are being read: {done} done", total, { done });
      const bar = /** @type {HTMLProgressElement} */ (query(reading, "progress"));
      bar.max = total;
      bar.value = done;
    }
    if (wasRead) onRead?.();
  };
  const look = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    try {
      status = await api.get("/api/status");
    } catch {
      // Whoever asks next says what is wrong.
    }
    show();
    showReading();
    if (status?.reading?.total) looksAtFirst = 0;
    else looksAtFirst -= 1;
    const isUnsettled = status?.reading?.total || (status && aboutIndex(status));
    timer = setTimeout(look, isUnsettled || looksAtFirst > 0 ? LOOK_SOON_MS : LOOK_AGAIN_MS);
  };
  addEventListener("online", show);
  addEventListener("offline", show);
  document.addEventListener("visibilitychange", look);
  look();
  return {
    connection: (/** @type {boolean} */ up) => {
      connected = up;
      show();
    },
    signedOut: () => {
      signedOut = true;
      show();
    },
  };
}

/** @param {Api.Status} status */
function aboutIndex(status) {
  if (status.index === "away") return gettext("The search index is not reachable: documents are searched by their words alone.");
  if (status.index !== "incomplete") return "";
  return ngettext(
    "The search index is being rebuilt: {count} passage is missing.",
    "The search index is being rebuilt: {count} passages are missing.",
    status.index_missing,
  );
}
