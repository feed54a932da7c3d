// Forms of what cannot be taken back: they ask before they are sent. Without this they are sent at once.
import { confirmDialog } from "./ui.js";

for (const form of document.querySelectorAll(/** @type {"form"} */ ("form[data-confirm]"))) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { confirm = "", confirmText = "", confirmButton } = form.dataset;
    if (await confirmDialog(confirm, confirmText, { confirm: confirmButton })) form.submit();
  });
}
