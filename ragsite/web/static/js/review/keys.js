// The keys of the review desk's pages.
import { byId, query } from "../dom.js";
import { isTyping } from "../shell.js";

/** @param {Record<string, (event: KeyboardEvent) => unknown>} actions by the key that is pressed alone */
export function listenForKeys(actions) {
  const dialog = byId("review-keys", HTMLDialogElement);
  const help = () => dialog.open || dialog.showModal();
  query(document, "[data-review-help]").addEventListener("click", help);
  /** @type {Record<string, (event: KeyboardEvent) => unknown>} */
  const all = { ...actions, "?": help };
  // Before the keys of every page (shell.js), whose list would open instead of ours.
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open], body > .menu")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!Object.hasOwn(all, key)) return;
    if (key === "Enter" && event.target instanceof Element && event.target.closest("a, button, summary")) return;
    event.preventDefault();
    event.stopPropagation();
    all[key](event);
  }, { capture: true });
}
