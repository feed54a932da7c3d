// Downloads a model into Ollama, and shows how far it is.
import { request } from "../api.js";
import { serverSentEvents } from "../chat/transport.js";
import { byId, bytes, query } from "../dom.js";
import { gettext } from "../i18n.js";

/** @typedef {{step: string, completed: number, total: number, free: number | null, error?: string}} Progress */

const place = byId("pulling");
const title = byId("pulling-title");
const bar = query(place, "progress", HTMLProgressElement);
const text = query(place, "[data-pull-text]");
const cancel = query(place, "[data-pull-cancel]");
const resume = query(place, "[data-pull-resume]");
const done = byId("pull-done");
/** @type {AbortController | null} of the download under way */
let running = null;
let model = "";

/** @param {() => unknown} onDone a model has come */
export function offerPulls(onDone) {
  const start = (/** @type {string} */ name) => void pull(name, onDone);
  for (const button of document.querySelectorAll(/** @type {"button"} */ ("[data-pull]"))) button.addEventListener("click", () => start(button.dataset.pull ?? ""));
  const form = byId("pull-form", HTMLFormElement);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId("pull-name", HTMLInputElement).value.trim();
    if (name) start(name);
  });
  cancel.addEventListener("click", () => running?.abort());
  resume.addEventListener("click", () => start(model));
}

/** What is there already need not be offered. @param {Api.ModelServerTest} found @param {boolean} isOllama */
export function showOffers(found, isOllama) {
  byId("pull").hidden = !isOllama || !found.answered;
  const names = found.models.map((one) => one.name.replace(/:latest$/, ""));
  for (const row of byId("recommended").querySelectorAll(/** @type {"li"} */ ("li"))) row.hidden = names.includes(row.dataset.model ?? "");
}

/** @param {string} name @param {() => unknown} onDone */
async function pull(name, onDone) {
  if (running) return;
  model = name;
  running = new AbortController();
  const wasDownloaded = gettext("{model} is here.", { model });
  title.textContent = gettext("Downloading {model}", { model });
  place.hidden = false;
  done.hidden = true;
  show({ step: gettext("Asking for it"), completed: 0, total: 0, free: null });
  setRunning(true);
  let ended = gettext("The connection broke off.");
  try {
    const { body } = await request("POST", "/api/model-server/pulls", { body: { model }, signal: running.signal });
    if (!body) return;
    for await (const event of serverSentEvents(body)) {
      const progress = /** @type {Progress} */ (/** @type {unknown} */ (event));
      show(progress);
      if (progress.error) ended = progress.error;
      if (progress.step === "success") ended = "";
    }
  } catch (error) {
    ended = running.signal.aborted ? gettext("Paused.") : /** @type {Error} */ (error).message;
  } finally {
    running = null;
    setRunning(false);
  }
  place.hidden = !ended;
  if (ended) {
    text.textContent = ended;
    return;
  }
  done.hidden = false;
  query(done, "[data-done-text]").textContent = wasDownloaded;
  onDone();
}

/** @param {boolean} isRunning */
function setRunning(isRunning) {
  cancel.hidden = !isRunning;
  resume.hidden = isRunning;
  for (const button of document.querySelectorAll(/** @type {"button"} */ ("[data-pull], #pull-form button"))) button.disabled = isRunning;
}

/** @param {Progress} progress */
function show({ step, completed, total, free }) {
  if (total) {
    bar.max = total;
    bar.value = completed;
  } else bar.removeAttribute("value");
  const size = total ? gettext("{done} of {total}", { done: bytes(completed) || "0 B", total: bytes(total) }) : step;
  const room = free === null ? "" : gettext("{size} free on the disk", { size: bytes(free) });
  text.textContent = [size, room].filter(Boolean).join(" · ");
}
