// The banner: no connection, or answers without a model.
import { api } from "../api.js";

const LOOK_AGAIN_MS = 60_000;

export function watchStatus(banner) {
  const text = banner.querySelector("[data-banner-text]");
  let state = { connection: true, signedOut: false, models: null };

  const show = () => {
    let message = "";
    if (state.signedOut) message = "You have been signed out. Reload the page and sign in again.";
    else if (!navigator.onLine || !state.connection) message = "No connection. An answer being written goes on, and appears here as soon as you are back.";
    else if (state.models && !state.models.online) {
      message = state.models.offline_forced
        ? "Working without a language model: answers are passages quoted from the documents."
        : "No language model is reachable: until one is, answers are passages quoted from the documents.";
    }
    text.textContent = message;
    banner.title = state.models?.reason || "";
    banner.hidden = !message;
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      state.models = await api.get("/api/status");
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
    connection: (up) => {
      state.connection = up;
      show();
    },
    signedOut: () => {
      state.signedOut = true;
      show();
    },
  };
}
