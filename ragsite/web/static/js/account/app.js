// The account page: asks before something ends that cannot be taken back, switches the theme.
// Its forms work without it, too.
import { byId } from "../dom.js";
import { chooseTheme, chosenTheme } from "../theme_choice.js";
import { confirmDialog, errorToast } from "../ui.js";

for (const form of document.querySelectorAll(/** @type {"form"} */ ("form[data-confirm]"))) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { confirm = "", confirmText = "", confirmButton } = form.dataset;
    if (await confirmDialog(confirm, confirmText, { confirm: confirmButton })) form.submit();
  });
}

// --------------------------------------------------------------------------------------------- the theme
const themes = byId("theme-choice", HTMLFormElement);
themes.addEventListener("submit", (event) => {
  event.preventDefault();
  chooseTheme(/** @type {HTMLButtonElement} */ (event.submitter).value).catch(errorToast);
  showTheme();
});
showTheme();

function showTheme() {
  for (const button of themes.querySelectorAll("button")) {
    if (button.value === chosenTheme()) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}
