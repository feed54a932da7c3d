// The colour theme: shown at once, kept in this browser, and with the account where somebody is signed in.
import { api } from "./api.js";
import { store } from "./dom.js";

const root = document.documentElement;
export const THEMES = ["system", "light", "dark"];

/** "system", "light" or "dark". */
export const chosenTheme = () => store.get("theme") || "system";

/** @param {string} theme @returns {Promise<void>} done when the account has it; fails where it could not be kept */
export async function chooseTheme(theme) {
  store.set("theme", theme === "system" ? null : theme);
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  if (root.dataset.accountTheme === undefined) return;
  await api.patch("/api/account/settings", { theme });
  root.dataset.accountTheme = theme;
}
