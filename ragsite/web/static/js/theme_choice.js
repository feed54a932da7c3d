// The colour theme: shown at once, and kept in this browser.
import { store } from "./dom.js";

const root = document.documentElement;
export const THEMES = ["system", "light", "dark"];

/** "system", "light" or "dark". */
export const chosenTheme = () => store.get("theme") || "system";

/** @param {string} theme */
export function chooseTheme(theme) {
  store.set("theme", theme === "system" ? null : theme);
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
}
