// What every signed-in page has: the drawer on small screens, popovers, the shortcut list.
import "./once.js";
import { byId, query } from "./dom.js";

const root = document.documentElement;
const sidebar = byId("sidebar");

/** @param {boolean} open */
function setSidebar(open) {
  root.classList.toggle("sidebar-open", open);
  document.querySelectorAll('[data-sidebar="open"]').forEach((button) => button.setAttribute("aria-expanded", String(open)));
  if (open) query(sidebar, "a, button").focus();
}

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const control = target.closest("[data-sidebar]");
  if (control) setSidebar(control.getAttribute("data-sidebar") === "open");
  if (target.closest("[data-open-shortcuts]")) openShortcuts();
  for (const popover of openPopovers()) {
    if (!popover.contains(target) || target.closest(".menu-item")) popover.open = false;
  }
});
document.addEventListener("ragsite:navigated", () => setSidebar(false));

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) { // one thing at a time
    if (root.classList.contains("sidebar-open")) setSidebar(false);
    for (const popover of openPopovers()) {
      popover.open = false;
      query(popover, "summary").focus();
    }
  }
  if (event.key === "?" && !isTyping(event.target)) {
    event.preventDefault();
    openShortcuts();
  }
});

/** @returns {NodeListOf<HTMLDetailsElement>} */
const openPopovers = () => document.querySelectorAll("details[data-popover][open]");

/** Whether what is typed here is text. @param {EventTarget | null} target */
export function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function openShortcuts() {
  const dialog = byId("shortcuts", HTMLDialogElement);
  if (!dialog.open) dialog.showModal();
}
