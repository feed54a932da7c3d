// A page of the desk on which a worker's progress is shown: kept up to date, and loaded again once the work has ended.
import { h, replace } from "./dom.js";
import { gettext } from "./i18n.js";

const EVERY_MS = 2000;
const PROGRESS = "[data-working]";

/** Whether the reader has begun to fill in a form, which a new page would empty. */
function isFillingIn() {
  const fields = /** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */ (document.querySelectorAll("main textarea, main input"));
  return [...fields].some(isChanged);
}

/** @param {HTMLInputElement | HTMLTextAreaElement} field */
function isChanged(field) {
  if (field instanceof HTMLInputElement) {
    if (field.type === "file") return Boolean(field.files?.length);
    // Their value is "on" where the page gives none, whatever has been chosen.
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  }
  return field.value !== field.defaultValue;
}

/** The page as it is now; null: it cannot be had at the moment. */
async function pageNow() {
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok || response.redirected) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

async function look() {
  const shown = document.querySelector(PROGRESS);
  const page = await pageNow();
  if (!shown) return;
  if (page) {
    const progress = page.querySelector(PROGRESS);
    if (!progress) {
      if (!isFillingIn()) location.reload();
      else replace(/** @type {HTMLElement} */ (shown), h("p", { class: "desk-note" }, gettext("Done."), " ", h("a", { href: "" }, gettext("Load the page again"))));
      return;
    }
    if (progress.innerHTML !== shown.innerHTML) shown.innerHTML = progress.innerHTML;
  }
  setTimeout(look, EVERY_MS);
}

setTimeout(look, EVERY_MS);
