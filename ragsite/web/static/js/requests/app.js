// Answering a question: passages are searched for, and cited by their numbers.
import { api } from "../api.js";
import { h, query, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { toast } from "../ui.js";
import { drawPassage, loadMarkdown } from "../chat/stream_text.js";

const SHOWN = 6;
const EXCERPT = 400; // characters

const form = query(document, "[data-reply]", HTMLFormElement);
const text = query(form, "textarea[name=text]", HTMLTextAreaElement);
const cited = query(form, "[data-cited]");
const words = query(form, "[data-query]", HTMLInputElement);
const found = query(form, "[data-found]");
const button = query(form, "[data-find]", HTMLButtonElement);

query(form, "[data-search]").hidden = false;
button.addEventListener("click", search);
words.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault(); // the answer is not sent
  search();
});

async function search() {
  if (!words.value.trim() || button.disabled) return;
  button.disabled = true;
  replace(found, h("div", { class: "loading", role: "status" }, h("span", { class: "spinner" })));
  try {
    await loadMarkdown().catch(() => {}); // without it passages are plain text
    const { candidates, degraded } = /** @type {Api.SearchResult} */ (await api.post("/api/search", { query: words.value.trim(), top_k: SHOWN }));
    replace(found, degraded.map((line) => h("p", { class: "muted" }, line)),
      candidates.length ? candidates.map(passage) : h("p", { class: "muted" }, gettext("No passage was found. Try other words.")));
  } catch (error) {
    replace(found, h("p", { class: "form-error", role: "alert" }, /** @type {Error} */ (error).message));
  } finally {
    button.disabled = false;
  }
}

/** @param {Api.Candidate} candidate */
function passage(candidate) {
  return h("article", {}, h("strong", { dir: "auto" }, candidate.title),
    h("button", { type: "button", class: "button small", "aria-label": gettext("Cite {title}", { title: candidate.title }), onclick: () => cite(candidate) }, gettext("Cite")),
    h("div", { class: "hit-text prose", dir: "auto" }, drawPassage(candidate.text.length > EXCERPT ? `${candidate.text.slice(0, EXCERPT)}…` : candidate.text)));
}

/** Its number goes into the answer, where the caret was. @param {Api.Candidate} candidate */
function cite({ chunk_id: id, title }) {
  const listed = [...form.querySelectorAll(/** @type {"input"} */ ("input[name=passage]"))];
  let number = listed.findIndex((input) => input.value === id) + 1;
  if (!number && listed.length >= Number(form.dataset.most)) {
    toast(gettext("No more passages can be cited."));
    return;
  }
  if (!number) {
    cited.append(h("li", {}, h("input", { type: "hidden", name: "passage", value: id }), h("span", { dir: "auto" }, title)));
    number = listed.length + 1;
  }
  const at = text.selectionEnd || text.value.length;
  const before = text.value.slice(0, at);
  text.setRangeText(`${before && !/\s$/.test(before) ? " " : ""}[${number}]`, at, at, "end");
  text.focus();
}
