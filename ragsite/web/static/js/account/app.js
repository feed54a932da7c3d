// The account page: switches the theme. Its forms work without it, too.
import "../confirmed.js";
import { byId } from "../dom.js";
import { setTheme, themeNow } from "../theming.js";

// --------------------------------------------------------------------------------------------- the theme
const themes = byId("theme-choice").querySelectorAll("button");
for (const button of themes) {
  button.addEventListener("click", () => {
    setTheme(button.value); // this browser keeps it
    showTheme();
  });
}
showTheme();

function showTheme() {
  for (const button of themes) {
    if (button.value === themeNow()) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}
