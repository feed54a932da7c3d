// The banner: no connection, or answers without a model.
import { api } from "../api.js";
import { query } from "../dom.js";
import { gettext } from "../i18n.js";

const LOOK_AGAIN_MS = 60_000;

/** @param {HTMLElement} banner */
export function watchStatus(banner) {
  const text = query(banner, "[data-banner-text]");
  let connected = true;
  let signedOut = false;
  /** @type {Api.Status | null} */
  let models = null;

  const show = () => {
    let message = "";
    if (signedOut) message = gettext("You have been signed out. Reload the page and sign in again.");
    else if (!navigator.onLine || !connected) message = gettext("No connection. An answer being written goes on, and appears here as soon as you are back.");
    else if (models && !models.online) {
      message = models.offline_forced
        ? gettext("Working without a language model: answers are passages quoted from the documents.")
        : gettext("No language model is reachable: until one is, answers are passages quoted from the documents.");
    }
    text.textContent = message;
    banner.title = models?.reason || "";
    banner.hidden = !message;
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      models = await api.get("/api/status");
    } catch {
      // Whoever asks next says what is wrong.
    }
    show();
  };
  addEventListener("online", show);
  addEventListener("offline", show);
  document.addEventListener("visibilitychange", look);
  setInterval(look, LOOK_AGAIN_MS);
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
