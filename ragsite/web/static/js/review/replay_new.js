// The form of a replay: what is left as it is, is not sent.
import { api, ApiError } from "../api.js";
import { bootData, byId } from "../dom.js";
import { gettext } from "../i18n.js";
import { labelsIn } from "./marking.js";
import { sentences } from "./problems.js";

/** @type {{message_id: string}} */
const boot = bootData();
const form = byId("replay-form", HTMLFormElement);
const fields = byId("filter-fields");
const problem = byId("replay-error");

/** @param {string} name */
function value(name) {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement || field instanceof HTMLSelectElement ? field.value.trim() : "";
}

function ownFilters() {
  const box = form.elements.namedItem("own_filters");
  return box instanceof HTMLInputElement && box.checked;
}

/** What is done otherwise, as the API takes it. */
function change() {
  /** @type {Record<string, unknown>} */
  const made = {};
  for (const name of ["workflow", "model", "revision"]) if (value(name)) made[name] = value(name);
  /** @type {Record<string, unknown>} */
  const options = {};
  if (value("top_k")) options.top_k = Number(value("top_k"));
  for (const name of ["rewrite", "hyde", "rerank", "web_search"]) {
    if (value(`option_${name}`)) options[name] = value(`option_${name}`) === "true";
  }
  if (Object.keys(options).length) made.options = options;
  if (ownFilters()) {
    /** @type {Record<string, unknown>} */
    const filters = {};
    for (const name of ["department", "doc_type"]) if (value(name)) filters[name] = value(name);
    if (value("policy_year")) filters.policy_year = Number(value("policy_year"));
    const tags = labelsIn(value("tags"));
    if (tags.length) filters.tags = tags;
    made.filters = filters;
  }
  return made;
}

form.querySelector("[name=own_filters]")?.addEventListener("change", () => { fields.hidden = !ownFilters(); });

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("[type=submit]"));
  button.disabled = true;
  problem.hidden = true;
  try {
    const started = await api.post(`/api/review/answers/${boot.message_id}/replay`, change());
    location.assign(started.url);
  } catch (error) {
    problem.textContent = error instanceof ApiError ? said(error) : gettext("The site did not answer; try again.");
    problem.hidden = false;
    button.disabled = false;
  }
});

/** @param {ApiError} error */
function said(error) {
  const first = sentences(error.fields)[0];
  return first ? `${error.message} ${first}` : error.message;
}
