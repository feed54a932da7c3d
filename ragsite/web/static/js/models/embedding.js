// Collections that another model has embedded: what embedding them again costs, and how far it is.
import { api } from "../api.js";
import { byId, h, query, replace, seconds } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { errorToast } from "../ui.js";

const LOOK_AGAIN_MS = 3000;
const button = query(document, "[data-embed-again]", HTMLButtonElement);
let wasShown = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

export async function lookAtEmbedding() {
  try {
    show(await api.get("/api/model-server/embedding"));
  } catch {
    byId("embedding").hidden = true; // the test above says what is wrong
  }
}

/** @param {Api.Embedding} embedding */
function show({ model, passages, estimated_s, collections }) {
  clearTimeout(timer);
  const running = collections.filter(({ done, error }) => done !== null && !error);
  const isDone = wasShown && model !== null && !collections.length;
  wasShown ||= collections.length > 0;
  byId("embedding").hidden = !collections.length && !isDone;
  replace(byId("apart"), collections.map(row));
  byId("apart").hidden = !collections.length;
  button.hidden = !collections.length;
  button.disabled = running.length === collections.length;
  const cost = [ngettext("{count} passage", "{count} passages", passages), estimated_s !== null && gettext("about {time} in all", { time: seconds(estimated_s * 1000) })];
  byId("embedding-cost").textContent = isDone ? gettext("Everything is embedded by {model}.", { model }) : cost.filter(Boolean).join(gettext(", "));
  if (running.length) timer = setTimeout(lookAtEmbedding, LOOK_AGAIN_MS);
}

/** @param {Api.ApartCollection} collection */
function row({ address, model, documents, passages, done, total, error }) {
  const held = [ngettext("{count} document", "{count} documents", documents), ngettext("{count} passage", "{count} passages", passages), gettext("now by {model}", { model })];
  const state = done === null ? "" : total ? gettext("{done} of {total} passages", { done, total }) : gettext("waits for its turn");
  return h("li", { class: "account-row models-offer" },
    h("div", {}, h("p", { class: "token-name" }, address), h("p", { class: "token-meta" }, held.join(" · ")), error ? h("p", { class: "field-error" }, error) : null),
    state && !error ? h("div", { class: "models-moving" }, h("progress", { max: total || null, value: total ? String(done) : null, "aria-label": address }), h("p", { class: "token-meta" }, state)) : null);
}

button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    show(await api.post("/api/model-server/embedding", {}));
  } catch (error) {
    button.disabled = false;
    errorToast(error);
  }
});
