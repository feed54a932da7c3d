// The account page: asks before something ends that cannot be taken back, switches the theme.
// Its forms work without it, too.
import { byId, store } from "../dom.js";
import { confirmDialog } from "../ui.js";

for (const form of document.querySelectorAll(/** @type {"form"} */ ("form[data-confirm]"))) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { confirm = "", confirmText = "", confirmButton } = form.dataset;
    if (await confirmDialog(confirm, confirmText, { confirm: confirmButton })) form.submit();
  });
}

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
