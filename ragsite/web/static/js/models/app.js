// The page of models: connect a server, try it, choose what its models do.
import { api } from "../api.js";
import { bootData, byId, query } from "../dom.js";
import { gettext } from "../i18n.js";
import { copyText, errorToast, toast } from "../ui.js";
import { lookAtEmbedding } from "./embedding.js";
import { showFound } from "./found.js";
import { offerPulls, showOffers } from "./pull.js";

/** @typedef {import("../api.js").ApiError} ApiError */

const VARIABLES = {
  server: "RAG_MODEL_SERVER", ollama_url: "OLLAMA_BASE_URL", openai_url: "RAG_MODEL_URL", key: "RAG_MODEL_KEY",
  chat_models: "RAG_CHAT_MODEL", fast_model: "RAG_FAST_MODEL", embed_model: "RAG_EMBED_MODEL",
};

/** @type {Api.ModelServer} */
let settings = bootData().settings;
const serverForm = byId("server-form", HTMLFormElement);
const chosenForm = byId("chosen-form", HTMLFormElement);
const kind = byId("server", HTMLSelectElement);
const key = byId("key", HTMLInputElement);
const answers = byId("chat_model", HTMLSelectElement);
const forgetKey = query(serverForm, "[name=forget_key]", HTMLInputElement);
let tests = 0; // of which only the last one is shown

const isLocked = (/** @type {string} */ name) => settings.locked.includes(name);

// --------------------------------------------------------------------------------------------- the server
function showServer() {
  kind.value = settings.server;
  for (const name of /** @type {const} */ (["ollama_url", "openai_url"])) byId(name, HTMLInputElement).value = settings[name];
  key.value = "";
  key.placeholder = settings.has_key ? gettext("A key is stored") : "";
  forgetKey.checked = false;
  query(serverForm, "[data-forget-key]").hidden = !settings.has_key || isLocked("key");
  showKind();
}

function showKind() {
  const isOpenai = kind.value === "openai";
  query(serverForm, "[data-field=ollama_url]").hidden = isOpenai;
  for (const name of ["openai_url", "key"]) query(serverForm, `[data-field=${name}]`).hidden = !isOpenai;
}

/** What the form says otherwise than the settings. */
function serverChanges() {
  /** @type {Record<string, unknown>} */
  const changes = {};
  for (const name of /** @type {const} */ (["server", "ollama_url", "openai_url"])) {
    const { value } = /** @type {HTMLInputElement} */ (byId(name));
    if (!isLocked(name) && value.trim() !== settings[name]) changes[name] = value.trim();
  }
  if (!isLocked("key") && (key.value || forgetKey.checked)) changes.key = forgetKey.checked ? "" : key.value;
  return changes;
}

async function test() {
  const turn = (tests += 1);
  const button = query(serverForm, "[data-test]", HTMLButtonElement);
  button.disabled = true;
  showError(serverForm);
  try {
    /** @type {Api.ModelServerTest} */
    const found = await api.post("/api/model-server/test", serverChanges());
    if (turn !== tests) return;
    showFound(byId("found"), found);
    byId("no-server").hidden = found.answered;
    showChoices(found);
    if (found.answered) void lookAtEmbedding();
    showOffers(found, settings.server === "ollama" && !Object.keys(serverChanges()).length); // it downloads into the saved one
  } catch (error) {
    if (turn === tests) showError(serverForm, /** @type {ApiError} */ (error));
  } finally {
    button.disabled = false;
  }
}

// --------------------------------------------------------------------------------------------- which model does what
/** @param {HTMLSelectElement} select @param {string[]} names @param {string} chosen */
function fill(select, names, chosen) {
  const all = chosen && !names.includes(chosen) ? [chosen, ...names] : names;
  select.replaceChildren(new Option(select.dataset.none, ""), ...all.map((name) => new Option(name, name)));
  select.value = chosen;
}

/** A name without its tag means `:latest`. @param {string} name @param {string[]} names */
const asListed = (name, names) => names.find((one) => one.toLowerCase().replace(/:latest$/, "") === name.toLowerCase().replace(/:latest$/, "")) ?? name;

/** @param {Api.ModelServerTest} found */
function showChoices(found) {
  const chatting = found.models.filter((model) => model.can_chat).map((model) => model.name);
  const embedding = found.models.filter((model) => model.can_embed).map((model) => model.name);
  const allowed = settings.chat_models.map((name) => asListed(name, chatting));
  byId("chosen").hidden = !found.models.length;
  fill(answers, chatting, allowed[0] ?? "");
  fill(byId("fast_model", HTMLSelectElement), chatting, asListed(settings.fast_model, chatting));
  fill(byId("embed_model", HTMLSelectElement), embedding, asListed(settings.embed_model, embedding));
  const others = byId("other-models");
  others.replaceChildren(...chatting.map((name) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "others", value: name, checked: allowed.slice(1).includes(name), disabled: isLocked("chat_models") });
    const label = Object.assign(document.createElement("label"), { className: "check" });
    const text = document.createElement("span");
    text.textContent = name;
    label.append(box, text);
    return label;
  }));
  showOthers();
}

/** The first of the list answers by itself; without a choice every model may be chosen. */
function showOthers() {
  const boxes = [...byId("other-models").querySelectorAll("input")];
  for (const box of boxes) /** @type {HTMLElement} */ (box.parentElement).hidden = box.value === answers.value;
  byId("others").hidden = !answers.value || boxes.length < 2;
}

function chosenChanges() {
  const data = new FormData(chosenForm);
  const first = String(data.get("chat_model") ?? "");
  const others = data.getAll("others").map(String).filter((name) => name !== first);
  const changes = { chat_models: first ? [first, ...others] : [], fast_model: data.get("fast_model"), embed_model: data.get("embed_model") };
  return Object.fromEntries(Object.entries(changes).filter(([name]) => !isLocked(name)));
}

// --------------------------------------------------------------------------------------------- saving
/** @param {HTMLFormElement} form @param {() => Record<string, unknown>} changes @param {() => unknown} done */
function saves(form, changes, done) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = query(form, "[type=submit]", HTMLButtonElement);
    button.disabled = true;
    showError(form);
    try {
      const hadKey = settings.has_key;
      settings = await api.patch("/api/model-server", changes());
      const isKeyGone = hadKey && !settings.has_key && !forgetKey.checked;
      toast(isKeyGone ? gettext("Saved. The address has changed, so the stored key was deleted: enter the new server’s.") : gettext("Saved. It counts from the next question on."));
      done();
    } catch (error) {
      showError(form, /** @type {ApiError} */ (error));
    } finally {
      button.disabled = false;
    }
  });
}

/** @param {HTMLFormElement} form @param {ApiError} [error] */
function showError(form, error) {
  const place = query(form, "[data-error]");
  place.hidden = !error;
  place.textContent = error?.message ?? "";
}

function showLocks() {
  for (const field of document.querySelectorAll(/** @type {"div"} */ ("[data-field]"))) {
    const name = /** @type {keyof VARIABLES} */ (field.dataset.field);
    if (!isLocked(name)) continue;
    for (const input of field.querySelectorAll(/** @type {"input"} */ ("input, select"))) input.disabled = true;
    const note = /** @type {DocumentFragment} */ (byId("locked-note", HTMLTemplateElement).content.cloneNode(true));
    query(note, "[data-variable]").textContent = VARIABLES[name];
    field.append(note);
  }
}

kind.addEventListener("change", showKind);
answers.addEventListener("change", showOthers);
query(serverForm, "[data-test]").addEventListener("click", () => void test());
const copyButton = query(document, "[data-copy]");
copyButton.addEventListener("click", () => void copyText(byId("lines").textContent ?? "", copyButton));
saves(serverForm, serverChanges, () => {
  showServer();
  void test();
});
saves(chosenForm, chosenChanges, () => void test());
offerPulls(() => void test());
showServer();
showLocks();
if (settings.offline_forced) query(serverForm, "[data-test]", HTMLButtonElement).disabled = true;
else test().catch(errorToast);
