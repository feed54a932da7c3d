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
<<<<<<< HEAD

/** @param {HTMLElement} button */
function showTheme(button) {
  const theme = chosenTheme();
  replace(button, icon(THEMES[theme] || "theme"));
  const label = gettext("Colour theme: {theme}. Change it.", { theme: THEME_NAMES[theme] || theme });
  button.setAttribute("aria-label", label);
  button.title = label;
}

for (const button of document.querySelectorAll(/** @type {"button"} */ ("[data-theme-toggle]"))) {
  showTheme(button);
  button.addEventListener("click", () => {
    const next = NAMES[(NAMES.indexOf(chosenTheme()) + 1) % NAMES.length];
    chooseTheme(next);
    showTheme(button);
  });
}
=======
>>>>>>> b24e9a04d7dcb22f37d83fea8ed9b923e2b92028
