// Asks once, with the first documents of one's own, whether the samples are still to be searched.
import { api } from "../api.js";
import { byId, query } from "../dom.js";
import { gettext } from "../i18n.js";
import { errorToast, toast } from "../ui.js";

const place = byId("samples");

/** Looks whether there is something to ask. */
export async function offerSamples() {
  try {
    show(await api.get("/api/samples"));
  } catch {
    // A question that comes later, too.
  }
}

/** @param {Api.Samples} samples */
function show(samples) {
  place.hidden = !samples.there || samples.chosen || !samples.own_documents;
  query(place, "[data-samples-ask]").hidden = samples.left_out;
  query(place, "[data-samples-out]").hidden = !samples.left_out;
  query(place, "[data-samples=out]").textContent = samples.left_out ? gettext("Fine") : gettext("Leave them out");
}

/** @param {boolean | null} leftOut null: as before the choice */
async function choose(leftOut) {
  try {
    show(await api.put("/api/samples", { left_out: leftOut }));
    if (leftOut === null) return;
    const said = leftOut ? gettext("Questions no longer search the sample documents.") : gettext("Questions go on searching the sample documents.");
    toast(said, { action: { label: gettext("Undo"), run: () => choose(null) } });
  } catch (error) {
    errorToast(error);
  }
}

for (const name of ["out", "in"]) query(place, `[data-samples=${name}]`).addEventListener("click", () => void choose(name === "out"));
