// The account page: asks before something ends that cannot be taken back, follows an export, switches theme and memory.
// Its forms work without it, too.
import { api } from "../api.js";
import { byId, h, icon, query, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { chooseTheme, chosenTheme } from "../theme_choice.js";
import { confirmDialog, errorToast } from "../ui.js";

const ASK_AGAIN_MS = 2000;

for (const form of document.querySelectorAll(/** @type {"form"} */ ("form[data-confirm]"))) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { confirm = "", confirmText = "", confirmButton } = form.dataset;
    if (await confirmDialog(confirm, confirmText, { confirm: confirmButton })) form.submit();
  });
}

// --------------------------------------------------------------------------------------------- theme and memory
const themes = byId("theme-choice", HTMLFormElement);
themes.addEventListener("submit", (event) => {
  event.preventDefault();
  chooseTheme(/** @type {HTMLButtonElement} */ (event.submitter).value).catch(errorToast);
  showTheme();
});
showTheme();

function showTheme() {
  for (const button of themes.querySelectorAll("button")) {
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

// --------------------------------------------------------------------------------------------- export
const state = byId("export-state");
const form = byId("export-form", HTMLFormElement);

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    showExport(await api.post("/api/account/export"));
  } catch (error) {
    errorToast(error);
  }
});
if (["waiting", "running"].includes(state.dataset.state || "")) askAgain();

function askAgain() {
  setTimeout(() => api.get("/api/account/export").then(showExport, askAgain), ASK_AGAIN_MS);
}

/** @param {Api.AccountExport} job */
function showExport(job) {
  const runs = job.state === "waiting" || job.state === "running";
  form.hidden = runs;
  if (runs) {
    if (!state.querySelector("progress")) {
      replace(state,
        h("p", { role: "status" }, gettext("Your data are being put together. You may leave this page.")),
        h("progress", { max: "1", "aria-label": gettext("Progress of the export") }));
    }
    query(state, "progress", HTMLProgressElement).value = job.progress;
    askAgain();
  } else if (job.state === "done") {
    const link = h("a", { class: "button small", href: "/api/account/export/file", download: true }, icon("download"), gettext("Download"));
    replace(state, h("p", { role: "status" }, gettext("Your data are ready to be downloaded, for a day."), link));
  } else {
    replace(state, h("p", { class: "field-error", role: "alert" }, gettext("Your data could not be put together. Try again, or tell an administrator.")));
  }
}
