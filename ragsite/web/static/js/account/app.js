// The account page: asks before something ends that cannot be taken back, switches theme and memory.
// Its forms work without it, too.
import { api } from "../api.js";
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
    else button.removeAttribute("aria-current");
  }
}

const memory = byId("memory-enabled", HTMLInputElement);
memory.addEventListener("change", async () => {
  try {
    await api.patch("/api/memory/settings", { enabled: memory.checked });
  } catch (error) {
    memory.checked = !memory.checked;
    errorToast(error);
  }
});
api.get("/api/memory/settings").then(({ enabled }) => {
  memory.checked = enabled;
  byId("memory-switch").hidden = false;
}, errorToast);
