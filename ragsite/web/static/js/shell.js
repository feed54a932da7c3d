// What every signed-in page has: the drawer on small screens, the theme switch, popovers, the shortcut list.
import { replace, icon, store } from "./dom.js";

const root = document.documentElement;
const sidebar = document.getElementById("sidebar");
const THEMES = { system: "theme", light: "sun", dark: "moon" };

function setSidebar(open) {
  root.classList.toggle("sidebar-open", open);
  document.querySelectorAll('[data-sidebar="open"]').forEach((button) => button.setAttribute("aria-expanded", String(open)));
  if (open) sidebar.querySelector("a, button").focus();
}

document.addEventListener("click", (event) => {
  const control = event.target.closest("[data-sidebar]");
  if (control) setSidebar(control.dataset.sidebar === "open");
  if (event.target.closest("[data-open-shortcuts]")) openShortcuts();
  for (const popover of document.querySelectorAll("details[data-popover][open]")) {
    if (!popover.contains(event.target) || event.target.closest(".menu-item")) popover.open = false;
  }
});
document.addEventListener("ragsite:navigated", () => setSidebar(false));

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    if (root.classList.contains("sidebar-open")) setSidebar(false);
    for (const popover of document.querySelectorAll("details[data-popover][open]")) {
      popover.open = false;
      popover.querySelector("summary").focus();
    }
  }
  if (event.key === "?" && !isTyping(event.target)) {
    event.preventDefault();
    openShortcuts();
  }
});

export function isTyping(target) {
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function openShortcuts() {
  const dialog = document.getElementById("shortcuts");
  if (!dialog.open) dialog.showModal();
}

function showTheme(button) {
  const theme = store.get("theme") || "system";
  replace(button, icon(THEMES[theme] || "theme"));
  const label = `Colour theme: ${theme}. Change it.`;
  button.setAttribute("aria-label", label);
  button.title = label;
}

for (const button of document.querySelectorAll("[data-theme-toggle]")) {
  showTheme(button);
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(store.get("theme") || "system") + 1) % names.length];
    store.set("theme", next === "system" ? null : next);
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    showTheme(button);
  });
}
