// What every signed-in page has: the drawer on small screens, popovers, the shortcut list.
import "./once.js";
import { api } from "./api.js";
import { byId, query } from "./dom.js";
import { errorToast } from "./ui.js";

const root = document.documentElement;
const sidebar = byId("sidebar");

// A browser that can install the site says so; Safari on iPhones says nothing, and is told by whether it has been done.
/** @param {Event | null} event */
const offer = (event) => import("./install.js").then(({ offerInstall }) => offerInstall(byId("install"), event), errorToast);
addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault();
  offer(event);
});
if (/** @type {{standalone?: boolean}} */ (navigator).standalone === false) offer(null);

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
  if (target.closest("[data-open-palette]")) openPalette();
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
  if (isPaletteKey(event)) {
    event.preventDefault();
    openPalette();
  }
  if (event.altKey && event.code === "KeyB") {
    event.preventDefault();
    byId("bell", HTMLAnchorElement).click();
  }
});

// A page may stay open for days: the bell looks again while it is seen.
const LOOKED_EVERY_MS = 60_000;
setInterval(showUnread, LOOKED_EVERY_MS);

async function showUnread() {
  if (document.hidden) return;
  const page = await api.get("/api/notifications?unread=1&page_size=1").catch(() => null);
  if (!page) return; // away or signed out: the count stays as it was
  const count = byId("unread");
  count.textContent = page.count > 99 ? "99+" : String(page.count);
  count.hidden = !page.count;
  query(document, ".app").toggleAttribute("data-unread", page.count > 0);
}

/** @returns {NodeListOf<HTMLDetailsElement>} */
const openPopovers = () => document.querySelectorAll("details[data-popover][open]");

/** Whether what is typed here is text. @param {EventTarget | null} target */
export function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

/** Ctrl and K, which ends a line in the text fields of a Mac: there ⌘ and K. @param {KeyboardEvent} event */
function isPaletteKey(event) {
  if (event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return false;
  return /Mac|iPhone|iPad/.test(navigator.platform) ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
}

function openPalette() {
  import("./palette.js").then(({ togglePalette }) => togglePalette(), errorToast);
}

function openShortcuts() {
  const dialog = byId("shortcuts", HTMLDialogElement);
  if (!dialog.open) dialog.showModal();
}
