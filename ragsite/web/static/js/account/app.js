// The account page: asks before something ends that cannot be taken back. The forms work without it, too.
import { confirmDialog } from "../ui.js";

for (const form of document.querySelectorAll(/** @type {"form"} */ ("form[data-confirm]"))) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { confirm = "", confirmText = "", confirmButton } = form.dataset;
    if (await confirmDialog(confirm, confirmText, { confirm: confirmButton })) form.submit();
  });
}
