// The theme that this browser shows the site in; theme.js sets it before a page is drawn.
import { store } from "./dom.js";

/** @type {Record<string, string>} of the page, and of the window of an installed site */
const COLOURS = { light: "#fdfcf9", dark: "#191b1a" };
export const THEMES = ["system", "light", "dark"];
const root = document.documentElement;

export const themeNow = () => root.dataset.theme ?? "system";

/** @param {string} theme one of THEMES */
export function setTheme(theme) {
  store.set("theme", theme === "system" ? null : theme);
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) {
    const ofSystem = meta.getAttribute("media")?.includes("dark") ? "dark" : "light";
    meta.setAttribute("content", COLOURS[theme] ?? COLOURS[ofSystem]);
  }
}
