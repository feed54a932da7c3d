// The offer to install the site as an app, a line in the account's menu; who closes it is not offered it here again.
import { query, store } from "./dom.js";

const DISMISSED = "install.dismissed";

/** @param {HTMLElement} line */
export function offerInstall(line) {
  const button = query(line, "[data-install]");
  const byHand = query(line, "[data-install-by-hand]"); // Safari on iPhones asks nobody, and tells nobody
  /** @type {InstallPrompt | null} */
  let prompt = null;
  const show = () => {
    const isByHand = /** @type {{standalone?: boolean}} */ (navigator).standalone === false;
    button.hidden = !prompt;
    byHand.hidden = !isByHand;
    line.hidden = Boolean(store.get(DISMISSED)) || !(prompt || isByHand);
  };
  addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault();
    prompt = /** @type {InstallPrompt} */ (event);
    show();
  });
  addEventListener("appinstalled", () => {
    prompt = null;
    show();
  });
  button.addEventListener("click", async () => {
    const asked = prompt;
    prompt = null; // each can be used once; the browser sends another
    await asked?.prompt();
    show();
  });
  query(line, "[data-install-dismiss]").addEventListener("click", () => {
    store.set(DISMISSED, "1");
    show();
  });
  show();
}

/** @typedef {Event & {prompt: () => Promise<unknown>}} InstallPrompt */
