// Count and list: what documents can be filtered and compared by is offered in the form's fields.
import { api } from "../api.js";
import { byId, h, replace } from "../dom.js";
import { gettext } from "../i18n.js";

const form = byId("count-form", HTMLFormElement);
const collection = byId("collection", HTMLSelectElement);
const offered = byId("c-offered");

async function offer() {
  const asked = new URLSearchParams(collection.value ? { collections: collection.value } : {});
  /** @type {[Api.FilterValues, Api.CountColumns]} */
  const [values, found] = await Promise.all([api.get(`/api/filters?${asked}`), api.get(`/api/count/columns?${asked}`)]);
  replace(byId("c-departments"), values.department.map((one) => h("option", { value: one.value })));
  replace(byId("c-types"), values.doc_type.map((one) => h("option", { value: one.value })));
  replace(byId("c-columns"), found.columns.map((one) => h("option", { value: one.name })));
  say(found.complete && found.columns.length === found.all ? "" : "part");
}

/** @param {"away" | "part" | ""} what */
function say(what) {
  offered.hidden = !what;
  offered.textContent = what ? offered.dataset[what] ?? "" : "";
}

/** The fields can be filled in without it. */
const offerQuietly = () => offer().catch(() => say("away"));

/** A count may take some seconds, in which the page stays as it is. @param {boolean} isBusy */
function show(isBusy) {
  form.setAttribute("aria-busy", String(isBusy));
  replace(byId("busy"), isBusy ? [h("span", { class: "spinner", "aria-hidden": "true" }), gettext("Counting…")] : []);
}

form.addEventListener("submit", () => show(true));
window.addEventListener("pageshow", () => show(false));
collection.addEventListener("change", offerQuietly);
collection.addEventListener("change", () => {
  byId("c-searched").hidden = Boolean(collection.value);
});
offerQuietly();
