// Where a question is written: grows with its text, keeps a draft, sends on Enter, and knows when not to.
import { fetchAll } from "../api.js";
import { collectionLabel, findCollection } from "../collection_names.js";
import { icon, query, replace, store } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { menuButton } from "../ui.js";

/** @type {Record<string, [string, string]>} */
const WORKFLOWS = {
  corrective: [gettext("Corrective"), gettext("Checks what it found, and searches again when that is weak")],
  self_corrective: [gettext("Self-corrective"), gettext("Grades every passage before answering")],
  dual_loop: [gettext("Dual loop"), gettext("Checks its own answer against the sources")],
  planned: [gettext("Planned"), gettext("Splits a question into steps")],
  react: [gettext("ReAct"), gettext("Rewrites the query until what it finds is enough")],
};
// Looks on the web by itself where the documents hold nothing, unless the user has switched that off.
const WEB_BY_ITSELF = "dual_loop";
const TALLEST_PX = 220;

export class Composer {
  /**
   * @param {HTMLElement} form
   * @param {object} options
   * @param {string[]} options.workflows
   * @param {number} options.limit characters of a question
   * @param {{by_default: boolean} | null} options.web null: no web search on this site
   * @param {string} options.username
   * @param {(text: string) => boolean} options.onSend false: not now, the text stays
   * @param {() => unknown} options.onStop
   */
  constructor(form, { workflows, limit, web, username, onSend, onStop }) {
    this.form = form;
    this.limit = limit;
    this.web = web;
    this.username = username;
    this.onSend = onSend;
    this.onStop = onStop;
    this.input = query(form, "textarea", HTMLTextAreaElement);
    this.button = query(form, "[data-send]", HTMLButtonElement);
    this.counter = query(form, "[data-counter]");
    this.draftKey = "draft.new";
    /** @type {Set<string>} */
    this.collections = new Set(JSON.parse(store.get("collections") || "[]"));
    this.workflow = workflows.find((name) => name === store.get("workflow")) ?? workflows[0];
    /** Whether the user wants the web; null: never said, so that each workflow goes by its own rule. @type {boolean | null} */
    this.webChosen = store.get("web_search") ? store.get("web_search") === "1" : null;
    this.busy = false;
    this.listen();
    this.offerChoices(workflows);
  }

  /** Whether the web will be searched where the documents are not enough. */
  get searchesWeb() {
    return this.web !== null && (this.webChosen ?? (this.web.by_default || this.workflow === WEB_BY_ITSELF));
  }

  /** @param {string[]} workflows */
  offerChoices(workflows) {
    const showPlaces = this.pickCollections(query(this.form, "[data-collections]"));
    this.pickWorkflow(query(this.form, "[data-workflow]"), workflows, showPlaces);
  }

  listen() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.busy) this.onStop();
      else this.send();
    });
    this.input.addEventListener("input", () => this.changed());
    this.input.addEventListener("keydown", (event) => {
      // keyCode 229: Safari reports the Enter that ends a composition without isComposing.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      if (!this.busy) this.send();
    });
  }

  /** Shows the draft of this session ("new" for none yet). @param {string} key */
  useDraft(key) {
    this.draftKey = `draft.${key}`;
    this.input.value = store.get(this.draftKey) || "";
    this.changed();
  }

  changed() {
    store.set(this.draftKey, this.input.value);
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, TALLEST_PX)}px`;
    const left = this.limit - this.input.value.length;
    this.counter.hidden = left > 500;
    this.counter.textContent = left >= 0 ? ngettext("{count} character left", "{count} characters left", left) : ngettext("{count} character too long", "{count} characters too long", -left);
    this.counter.classList.toggle("is-over", left < 0);
    this.showButton();
  }

  /** @param {boolean} busy */
  setBusy(busy) {
    this.busy = busy;
    this.form.classList.toggle("is-busy", busy);
    this.showButton();
  }

  showButton() {
    const text = this.input.value.trim();
    this.button.disabled = !this.busy && (!text || text.length > this.limit);
    this.button.setAttribute("aria-label", this.busy ? gettext("Stop the answer") : gettext("Send the question"));
    if (this.button.dataset.shows !== String(this.busy)) replace(this.button, icon(this.busy ? "stop" : "send"));
    this.button.dataset.shows = String(this.busy);
  }

  send() {
    const text = this.input.value.trim();
    if (!text || text.length > this.limit) return;
    if (this.onSend(text) === false) return;
    this.input.value = "";
    this.changed();
  }

  /** The fields of a question besides its words. @returns {Omit<Api.Ask, "message" | "session_id">} */
  settings() {
    return {
      workflow: this.workflow,
      ...(this.collections.size ? { collections: [...this.collections] } : {}),
      ...(this.web && this.webChosen !== null ? { options: { web_search: this.webChosen } } : {}),
    };
  }

  /** @param {HTMLElement} button @param {string[]} workflows @param {() => void} onChange */
  pickWorkflow(button, workflows, onChange) {
    const show = () => replace(button, icon("flow"), WORKFLOWS[this.workflow]?.[0] || this.workflow, icon("chevron"));
    show();
    menuButton(button, () => workflows.map((name) => ({
      label: WORKFLOWS[name]?.[0] || name, hint: WORKFLOWS[name]?.[1], checked: name === this.workflow, radio: true,
      run: () => {
        this.workflow = name;
        store.set("workflow", name);
        show();
        onChange();
      },
    })), { align: "start", title: gettext("How to look for the answer") });
  }

  /** @param {HTMLElement} button @returns {() => void} shows anew where will be looked */
  pickCollections(button) {
    /** @type {Api.Collection[]} */
    let known = [];
    const labelOf = (/** @type {Api.Collection} */ row) => collectionLabel(row, known, this.username);
    const show = () => {
      const chosen = [...this.collections];
      const only = chosen.length === 1 ? known.find(({ id }) => id === chosen[0]) : undefined;
      const label = chosen.length === 0 ? gettext("All collections") : only ? labelOf(only) : ngettext("{count} collection", "{count} collections", chosen.length);
      replace(button, icon("folder"), this.searchesWeb ? gettext("{places} + web", { places: label }) : label, icon("chevron"));
    };
    const toggleWeb = () => {
      this.webChosen = !this.searchesWeb;
      store.set("web_search", this.webChosen ? "1" : "0");
      show();
    };
    const choose = (/** @type {Api.Id | null} */ id) => {
      if (id === null) this.collections.clear();
      else if (!this.collections.delete(id)) this.collections.add(id);
      store.set("collections", this.collections.size ? JSON.stringify([...this.collections]) : null);
      show();
    };
    const hintOf = (/** @type {Api.Collection} */ { document_count, visibility, owner, approved }) => [
      ngettext("{count} document", "{count} documents", document_count),
      visibility === "public" && !approved && owner !== this.username ? gettext("not approved by the site, searched only when chosen") : null,
    ].filter(Boolean).join(" · ");
    show();
    menuButton(button, () => [
      { label: gettext("All collections"), checked: this.collections.size === 0, run: () => choose(null) },
      ...known.map((row) => ({
        label: labelOf(row), hint: hintOf(row), checked: this.collections.has(row.id), run: () => choose(row.id),
      })),
      ...(this.web ? [{
        label: gettext("The web, too"), hint: gettext("Where the documents are not enough; words of your question go to the search engine"),
        checked: this.searchesWeb, run: toggleWeb,
      }] : []),
    ], { align: "start", title: gettext("Where to look"), keepOpen: true });
    const read = async () => {
      try {
        known = await fetchAll("/api/collections");
        // Kept choices of older pages are names.
        const kept = [...this.collections].flatMap((value) => findCollection(known, value, this.username)?.id ?? []);
        this.collections = new Set(kept);
        show();
      } catch {
        // The choice that was kept holds; the menu offers to search all again.
      }
    };
    void read();
    return show;
  }
}
