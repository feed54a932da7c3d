// Experiments: make a draft, start it, stop it.
import { api, ApiError } from "../api.js";
import { bootData } from "../dom.js";
import { gettext } from "../i18n.js";
import { confirmDialog, errorToast } from "../ui.js";
import { sentences } from "./problems.js";

/** @type {{experiment: string | null}} */
const { experiment } = bootData();
const form = document.getElementById("experiment-form");
const problem = document.getElementById("experiment-error");

if (form instanceof HTMLFormElement && problem) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    const given = new FormData(form);
    /** @type {Record<string, unknown>} */
    const options = {};
    if (given.get("top_k")) options.top_k = Number(given.get("top_k"));
    for (const name of ["rewrite", "hyde", "rerank", "web_search"]) {
      if (given.get(`option_${name}`)) options[name] = given.get(`option_${name}`) === "true";
    }
    try {
      const made = await api.post("/api/review/experiments", {
        name: given.get("name"), workflow: given.get("workflow"), share: Number(given.get("share")) / 100,
        minimum: Number(given.get("minimum")), options,
      });
      location.assign(`/review/experiments/${made.id}/`);
    } catch (error) {
      problem.textContent = error instanceof ApiError ? [error.message, ...sentences(error.fields)].slice(0, 2).join(" ") : gettext("The site did not answer; try again.");
      problem.hidden = false;
    }
  });
}

document.getElementById("start")?.addEventListener("click", async () => {
  const text = gettext("From the next question on its share of people is answered by variant B.");
  if (await confirmDialog(gettext("Start the experiment?"), text, { confirm: gettext("Start"), danger: false })) await act("start");
});
document.getElementById("stop")?.addEventListener("click", async () => {
  const text = gettext("From the next question on everybody is answered as by default. It can't be started again.");
  if (await confirmDialog(gettext("Stop the experiment?"), text, { confirm: gettext("Stop") })) await act("stop");
});

/** @param {"start" | "stop"} what */
async function act(what) {
  await api.post(`/api/review/experiments/${experiment}/${what}`, {}).then(() => location.reload(), errorToast);
}
