// The offer to install the site as an app, a line in the account's menu; who closes it is not offered it here again.
import { query, store } from "./dom.js";

const DISMISSED = "install.dismissed";

/** @typedef {Event & {prompt: () => Promise<unknown>}} InstallPrompt */

/** @param {HTMLElement} line @param {Event | null} event of a browser that can ask; null: it is done by hand there */
export function offerInstall(line, event) {
  const button = query(line, "[data-install]");
  let prompt = /** @type {InstallPrompt | null} */ (event);
  const show = () => {
    button.hidden = !prompt;
    query(line, "[data-install-by-hand]").hidden = event !== null;
    line.hidden = Boolean(store.get(DISMISSED)) || (event !== null && !prompt);
  };
  button.onclick = async () => {
    const asked = prompt;
    prompt = null; // each can be used once; the browser sends another
    await asked?.prompt();
    show();
  };
  query(line, "[data-install-dismiss]").onclick = () => {
    store.set(DISMISSED, "1");
    show();
  };
  show();
}
