// The account page: asks before something ends that cannot be taken back, switches the theme.
// Its forms work without it, too.
import { api } from "../api.js";
import { byId, store } from "../dom.js";
import { confirmDialog, errorToast } from "../ui.js";

for (const form of document.querySelectorAll(/** @type {"form"} */ ("form[data-confirm]"))) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { confirm = "", confirmText = "", confirmButton } = form.dataset;
    if (await confirmDialog(confirm, confirmText, { confirm: confirmButton })) form.submit();
  });
}

<<<<<<< HEAD
// --------------------------------------------------------------------------------------------- theme and memory
const themes = byId("theme-choice").querySelectorAll("button");
for (const button of themes) {
  button.addEventListener("click", () => {
    chooseTheme(button.value);
    showTheme();
  });
}
showTheme();

function showTheme() {
  for (const button of themes) {
    if (button.value === chosenTheme()) button.setAttribute("aria-current", "true");
=======
// --------------------------------------------------------------------------------------------- the theme
const root = document.documentElement;
const themes = byId("theme-choice", HTMLFormElement);
themes.addEventListener("submit", async (event) => {
  event.preventDefault();
  const theme = /** @type {HTMLButtonElement} */ (event.submitter).value;
  store.set("theme", theme === "system" ? null : theme); // for pages without an account
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  showTheme();
  await api.patch("/api/account/settings", { theme }).catch(errorToast);
});
showTheme();

function showTheme() {
  for (const button of themes.querySelectorAll("button")) {
    if (button.value === (root.dataset.theme ?? "system")) button.setAttribute("aria-current", "true");
>>>>>>> b24e9a04d7dcb22f37d83fea8ed9b923e2b92028
    else button.removeAttribute("aria-current");
  }
}
