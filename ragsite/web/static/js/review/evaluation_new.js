// The import of a labelled set: what is too large is said before it is sent, what is wrong beside its file.
import { ApiError, upload } from "../api.js";
import { bootData, byId, query } from "../dom.js";
import { gettext } from "../i18n.js";
import { sentences } from "./problems.js";

/** @type {{bytes: Record<string, number>}} */
const boot = bootData();
const form = byId("import-form", HTMLFormElement);
const problem = byId("import-error");
const progress = byId("import-progress");
const FIELDS = ["name", "corpus", "queries", "qrels"];

/** @param {string} name @param {string} text empty: nothing is wrong */
function say(name, text) {
  const place = query(form, `[data-error="${name}"]`);
  place.textContent = text;
  place.hidden = !text;
  form.elements.namedItem(name) instanceof HTMLInputElement && /** @type {HTMLInputElement} */ (form.elements.namedItem(name)).setAttribute("aria-invalid", String(Boolean(text)));
}

/** Whether all is there and not too large. @param {FormData} given */
function complete(given) {
  let good = true;
  for (const name of FIELDS) {
    const value = given.get(name);
    const file = value instanceof File ? value : null;
    let text = "";
    if (name === "name" ? !String(value).trim() : !file?.name) text = name === "name" ? gettext("Give the set a name.") : gettext("Choose the file.");
    else if (file && file.size > boot.bytes[name]) text = gettext("This file is too large: at most {mib} MiB.", { mib: Math.floor(boot.bytes[name] / 1024 / 1024) });
    say(name, text);
    good = good && !text;
  }
  return good;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.hidden = true;
  const given = new FormData(form);
  if (!complete(given)) return;
  const button = /** @type {HTMLButtonElement} */ (query(form, "[type=submit]"));
  const bar = query(progress, "progress", HTMLProgressElement);
  const text = query(progress, "span");
  button.disabled = true;
  progress.hidden = false;
  try {
    const made = await upload("/api/review/evaluation/sets/import", given, (share) => {
      bar.value = share;
      text.textContent = share < 1 ? `${Math.round(share * 100)} %` : gettext("Checking every line…");
    });
    location.assign(made.url);
  } catch (error) {
    const failed = error instanceof ApiError ? error : null;
    let placed = false;
    for (const name of FIELDS) {
      const said = sentences(failed?.fields[name]).join(" ");
      if (said) say(name, said);
      placed = placed || Boolean(said);
    }
    problem.textContent = failed ? failed.message : gettext("The site did not answer; try again.");
    problem.hidden = placed;
    progress.hidden = true;
    button.disabled = false;
  }
});
