// The settings' form: find a setting, see how many fields were changed and not saved.
import { ngettext } from "../i18n.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("settings-form"));
const search = /** @type {HTMLInputElement | null} */ (document.getElementById("settings-search"));
const unsaved = document.getElementById("settings-unsaved");
const none = document.getElementById("settings-none");
const began = values();
let sent = false;

function values() {
  return new Map([...form.elements].filter((field) => "name" in field && field.name && !String(field.name).startsWith("was:")
    && "value" in field && !(field instanceof HTMLButtonElement)).map((field) => {
    const { name, value } = /** @type {HTMLInputElement} */ (field);
    return [name, value];
  }));
}

function changed() {
  return [...values()].filter(([name, value]) => value !== began.get(name)).length;
}

form.addEventListener("input", () => {
  const count = changed();
  if (unsaved) unsaved.textContent = count ? ngettext("{count} field not saved yet", "{count} fields not saved yet", count) : "";
});
form.addEventListener("submit", () => { sent = true; });
addEventListener("beforeunload", (event) => {
  if (!sent && changed()) event.preventDefault();
});

search?.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-setting]"))) {
    const text = (row.dataset.setting || "").toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    if (!row.hidden) found += 1;
  }
  for (const section of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-section]"))) {
    section.hidden = !section.querySelector("[data-setting]:not([hidden])");
  }
  if (none) none.hidden = found > 0;
});
search?.addEventListener("keydown", (event) => {
  if (event.key === "Enter") event.preventDefault();
});
