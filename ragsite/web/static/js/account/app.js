// The account page: switches the theme. Its forms work without it, too.
import "../confirmed.js";
import { byId, store } from "../dom.js";

// --------------------------------------------------------------------------------------------- the theme
const root = document.documentElement;
const themes = byId("theme-choice").querySelectorAll("button");
for (const button of themes) {
  button.addEventListener("click", () => {
    store.set("theme", button.value === "system" ? null : button.value); // this browser keeps it
    if (button.value === "system") delete root.dataset.theme;
    else root.dataset.theme = button.value;
    showTheme();
  });
}
showTheme();

function showTheme() {
  for (const button of themes) {
    if (button.value === (root.dataset.theme ?? "system")) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}
