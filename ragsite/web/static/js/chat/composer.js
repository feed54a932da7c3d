// Where a question is written, with what goes beside its words: files, where to look, filters, effort.
import { api, fetchAll } from "../api.js";
import { collectionLabel } from "../collection_names.js";
import { h, icon, query, replace, store } from "../dom.js";
import { listenForDrops } from "../files.js";
import { gettext, ngettext } from "../i18n.js";
import { errorToast, menuButton, toast } from "../ui.js";
import { AssistantPick } from "./assistants.js";
import { Effort } from "./effort.js";
import { Filters } from "./filters.js";
import { NamedDocuments } from "./named_documents.js";
import { QuestionBox } from "./question_box.js";

/** @typedef {import("./attachments.js").Attachments} Attachments */

// Looks on the web by itself where the documents hold nothing, unless the user has switched that off.
const WEB_BY_ITSELF = "dual_loop";

export class Composer extends QuestionBox {
  /**
   * @param {HTMLElement} form
   * @param {object} options
   * @param {Boot.Effort[]} options.workflows
   * @param {string} [options.standard] the site's default workflow
   * @param {{message_chars: number, file_bytes: number, files: number}} options.limits characters of a question; of files
   * @param {string[]} options.accept suffixes of files, as ".pdf"
   * @param {string} options.page the self-corrective workflow's
   * @param {{by_default: boolean} | null} options.web null: no web search on this site
   * @param {Api.Assistant | null} [options.assistant] the site's default
   * @param {() => unknown} [options.onAssistant] another one was chosen
   * @param {string} options.username
   * @param {(text: string) => boolean} options.onSend false: not now, the text stays
   * @param {() => unknown} options.onStop
   */
  constructor(form, { workflows, standard, limits, accept, page, web, assistant = null, onAssistant = () => {}, username, onSend, onStop }) {
    super(form, { limit: limits.message_chars, onSend, onStop });
    this.limits = limits;
    this.accept = accept;
    this.web = web;
    this.username = username;
    this.files = query(form, "[data-files]");
    this.chips = query(form, "[data-chips]");
    this.named = new NamedDocuments(query(form, "[data-documents]"));
    /** @type {Api.Id | null} of the conversation: one that has begun, or one that has files and no question yet */
    this.sessionId = null;
    /** @type {Attachments | null} once there are files */
    this.attachments = null;
    /** Grows with each conversation that is shown. */
    this.turn = 0;
    // The last choices, each reader's own.
    this.kept = {
      get: (/** @type {string} */ name) => store.get(`${name}.${username}`),
      set: (/** @type {string} */ name, /** @type {string | null} */ value) => store.set(`${name}.${username}`, value),
    };
    /** @type {Set<string> | null} addresses of those that this conversation searches; null: all that are searched unasked */
    this.collections = null;
    /** Addresses of those that the assistant looks into; none: it looks where questions do that choose none. @type {() => string[]} */
    this.placesOfAssistant = () => [];
    const webChosen = this.kept.get("web_search");
    /** Whether the user wants the web; null: each workflow goes by its own rule. @type {boolean | null} */
    this.webChosen = webChosen ? webChosen === "1" : null;
    this.takeFiles();
    this.assistant = new AssistantPick(query(form, "[data-assistant]"), { standard: assistant, onChange: () => this.followAssistant(onAssistant) });
    this.showPlaces = this.pickCollections(query(this.form, "[data-collections]"));
    this.effort = new Effort(query(form, "[data-workflow]"), { workflows, standard, page, kept: this.kept, onChange: () => this.showPlaces() });
    this.filters = new Filters(query(form, "[data-filters]"), () => this.filterQuery(), () => this.showChips());
    this.adjust = query(form, "[data-adjust]");
    this.adjust.addEventListener("click", () => this.showAdjusting(this.adjust.getAttribute("aria-expanded") !== "true"));
    this.followAssistant(() => {});
  }

  /** What it decides is folded away, and left to it. @param {() => unknown} onAssistant */
  followAssistant(onAssistant) {
    const name = this.assistant.chosen?.name ?? "";
    if (name !== this.effort.assistant) this.showAdjusting(false);
    this.effort.follow(name);
    this.filters.follow(this.assistant.chosen?.filters ?? {});
    this.showChips();
    this.showPlaces();
    onAssistant();
  }

  /** @param {boolean} isOpen */
  showAdjusting(isOpen) {
    const name = this.assistant.chosen?.name;
    this.adjust.hidden = !name;
    this.adjust.setAttribute("aria-expanded", String(isOpen));
    this.form.classList.toggle("is-folded", Boolean(name) && !isOpen);
  }

  /** Whether the web will be searched where the documents are not enough. */
  get searchesWeb() {
    return this.web !== null && (this.webChosen ?? (this.web.by_default || this.effort?.workflow === WEB_BY_ITSELF));
  }

  takeFiles() {
    const chooser = query(this.form, "[data-choose]", HTMLInputElement);
    chooser.setAttribute("accept", this.accept.join(","));
    chooser.addEventListener("change", () => {
      void this.attach([...(chooser.files || [])]);
      chooser.value = "";
    });
    query(this.form, "[data-attach]").addEventListener("click", () => chooser.click());
    this.input.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (!files.length || event.clipboardData?.types.includes("text/plain")) return;
      event.preventDefault();
      void this.attach(files);
    });
    listenForDrops((files) => this.attach(files));
  }

  // ------------------------------------------------------------------------------------------- conversations
  /** Shows the draft, the files, the places and the assistant of this session ("new" for none yet).
   * @param {string} key @param {string[]} [collections] @param {{id?: Api.Id, name?: string}} [assistant] */
  useDraft(key, collections = [], assistant) {
    super.useDraft(key);
    this.effort.follow(""); // what was adjusted was for the conversation before
    this.assistant.use(key === "new" ? undefined : /** @type {import("./assistants.js").Chosen} */ (assistant) ?? null);
    this.collections = collections.length ? new Set(collections) : null;
    this.showPlaces?.();
    this.filters.clear();
    this.named.clear();
    void this.useFiles(key === "new" ? this.kept.get("files") : key);
    this.showChips();
  }

  /** The collections, the documents, and the words, that the address of the page names. @param {URLSearchParams} address */
  async begin(address) {
    const collections = address.getAll("collections");
    if (collections.length) this.collections = new Set(collections);
    this.showPlaces();
    const assistant = address.get("assistant");
    if (assistant) this.assistant.choose(await api.get(`/api/assistants/${encodeURIComponent(assistant)}`));
    const words = await this.named.name(address);
    if (words) this.input.value = words;
    this.changed();
  }

  /** What a phone shared with the site, behind what was written before; it is not sent. @param {string} shared */
  takeShared(shared) {
    const text = [this.input.value.trim(), shared].filter(Boolean).join("\n");
    this.input.value = text.slice(0, this.limits.message_chars);
    this.changed();
    if (text.length > this.limits.message_chars) toast(gettext("What was shared is too long for a question: its end was left out."), { ms: 8000 });
  }

  /** The first question has been taken. @param {Api.Id} sessionId */
  began(sessionId) {
    this.draftKey = `draft.${sessionId}`;
    this.sessionId = sessionId;
    store.set("draft.new", null);
    this.kept.set("files", null);
    if (this.attachments) this.attachments.sessionId = sessionId;
  }

  /** @param {Api.Id | null} sessionId */
  async useFiles(sessionId) {
    const turn = (this.turn += 1);
    this.sessionId = sessionId;
    this.attachments?.show(sessionId, []);
    if (!sessionId) return;
    try {
      /** @type {Api.Attachments} */
      const { documents } = await api.get(`/api/attachments?session_id=${sessionId}`);
      if (turn !== this.turn || !documents.length) return;
      (await this.withFiles()).show(sessionId, documents);
    } catch {
      if (turn !== this.turn || this.draftKey !== "draft.new") return;
      // What was attached before the first question has gone.
      this.sessionId = null;
      this.kept.set("files", null);
    }
  }

  async withFiles() {
    const { Attachments } = await import("./attachments.js");
    this.attachments ??= new Attachments(this.files, {
      accept: this.accept, limits: this.limits,
      onChange: () => this.showButton(),
      onBegun: (id) => {
        this.sessionId = id;
        this.kept.set("files", id);
      },
    });
    return this.attachments;
  }

  /** @param {File[]} files */
  async attach(files) {
    if (!files.length) return;
    try {
      const attachments = await this.withFiles();
      if (!attachments.all.length) attachments.show(this.sessionId, []);
      attachments.add(files);
      this.input.focus();
    } catch (error) {
      errorToast(error);
    }
  }

  showChips() {
    replace(this.chips, this.filters.chips());
  }

  // ------------------------------------------------------------------------------------------- the question
  canSend() {
    return super.canSend() && this.collections?.size !== 0 && !this.attachments?.isSending; // what is still being read on the site is waited for there
  }

  send() {
    super.send();
    if (!this.input.value) this.attachments?.forgetRefused();
  }

  /** The fields of a question besides its words. @returns {Omit<Api.Ask, "message" | "session_id"> & {session_id?: Api.Id}} */
  settings() {
    const { workflow, model, options: effort } = this.effort.settings();
    const options = { ...effort, ...(this.web && this.webChosen !== null ? { web_search: this.webChosen } : {}) };
    return {
      ...this.assistant.settings(),
      ...(workflow ? { workflow } : {}),
      ...(model ? { model } : {}),
      ...(this.sessionId ? { session_id: this.sessionId } : {}),
      ...(this.collections ? { collections: [...this.collections] } : {}),
      ...this.named.settings(),
      ...this.filters.settings(),
      ...(Object.keys(options).length ? { options } : {}),
    };
  }

  /** Of `/api/filters`: for what would be searched. */
  filterQuery() {
    const asked = new URLSearchParams();
    const places = this.collections ? [...this.collections] : this.placesOfAssistant();
    if (places.length) asked.set("collections", places.join(","));
    if (this.sessionId) asked.set("session_id", this.sessionId);
    return asked.size ? `?${asked}` : "";
  }

  // ------------------------------------------------------------------------------------------- where to look
  /** @param {boolean | null} wanted null: as each workflow does */
  chooseWeb(wanted) {
    this.webChosen = wanted;
    this.kept.set("web_search", wanted === null ? null : wanted ? "1" : "0");
    this.showPlaces();
  }

  /** @returns {Ui.MenuItem[]} */
  webItems() {
    if (!this.web) return [];
    const words = gettext("Used when the documents are not enough. Words of your question go to the search engine");
    const choice = (/** @type {boolean | null} */ wanted, /** @type {string} */ label, hint = "") => ({
      label, hint, checked: this.webChosen === wanted, radio: true, run: () => this.chooseWeb(wanted),
    });
    return [
      { heading: gettext("The web") },
      choice(null, gettext("Automatic"), this.web.by_default ? words : gettext("Only for Thorough, when the documents are not enough")),
      choice(true, gettext("On"), words),
      choice(false, gettext("Off")),
    ];
  }

  /** @param {HTMLElement} button @returns {() => void} shows anew where will be looked */
  pickCollections(button) {
    /** @type {Api.Collection[]} */
    let known = [];
    const itsLabel = () => (this.assistant.chosen?.with_own ? gettext("Its collections and your own") : gettext("Its collections"));
    const ofAssistant = () => this.assistant.chosen?.collections ?? [];
    const isNarrowed = () => ofAssistant().length > 0 || (this.assistant.chosen?.unreadable ?? 0) > 0;
    const isOfAssistant = (/** @type {Api.Collection} */ { address, owner }) => ofAssistant().includes(address) || (owner === this.username && this.assistant.chosen?.with_own === true);
    const isSearched = (/** @type {Api.Collection} */ row) => this.collections?.has(row.address) ?? (isNarrowed() ? isOfAssistant(row) : row.searched);
    this.placesOfAssistant = () => (isNarrowed() ? known.filter(isOfAssistant).map(({ address }) => address) : []);
    const labelOf = (/** @type {Api.Collection} */ row) => collectionLabel(row, known, this.username);
    const show = () => {
      const chosen = known.filter(isSearched);
      if (known.length && this.collections?.size) this.collections = chosen.length ? new Set(chosen.map(({ address }) => address)) : null; // others have gone
      const all = isNarrowed() ? itsLabel() : gettext("Those searched by default");
      const label = !this.collections ? all : !chosen.length ? gettext("Choose a collection")
        : chosen.length === 1 ? labelOf(chosen[0]) : ngettext("{count} collection", "{count} collections", chosen.length);
      replace(button, icon("folder"), h("span", {}, this.searchesWeb ? gettext("{places} + web", { places: label }) : label), icon("chevron"));
      this.showButton();
    };
    /** @param {(row: Api.Collection) => boolean} holds */
    const choose = (holds) => {
      const differs = isNarrowed() || known.some((row) => holds(row) !== row.searched);
      this.collections = differs ? new Set(known.filter(holds).map(({ address }) => address)) : null;
      show();
    };
    const read = async () => {
      try {
        known = await fetchAll("/api/collections");
        show();
      } catch {
        // What was chosen holds; the menu offers to search all again.
      }
    };
    const reading = read();
    menuButton(button, () => reading.then(() => [
      isNarrowed()
        ? { label: itsLabel(), hint: this.assistant.chosen?.name, checked: !this.collections, run: () => { this.collections = null; show(); } }
        : { label: gettext("Those searched by default"), checked: !this.collections, run: () => choose(this.collections ? ({ searched }) => searched : () => false) },
      ...known.map((row) => ({
        label: labelOf(row), hint: ngettext("{count} document", "{count} documents", row.document_count), checked: isSearched(row), run: () => choose((other) => isSearched(other) !== (other === row)),
      })),
      ...this.webItems(),
    ]), { align: "start", title: gettext("Where to look"), keepOpen: true });
    return show;
  }
}
