// Files of a conversation, as chips above the question: sent, read, kept or taken away.
import { api, ApiError, upload } from "../api.js";
import { h, icon, iconButton, replace } from "../dom.js";
import { refusal } from "../files.js";
import { gettext } from "../i18n.js";
import { errorToast, formDialog, menuButton, toast } from "../ui.js";

const LOOK_MS = 1200;
const READ = ["ready", "failed"];

/**
 * @typedef {object} Attached
 * @property {string} name
 * @property {File | null} file while it is sent
 * @property {Api.Document | null} document once it is stored
 * @property {number} share of it that is sent
 * @property {string} problem "": none
 * @property {boolean} again whether sending it again may help
 * @property {AbortController} [sending]
 */

export class Attachments {
  /**
   * @param {HTMLElement} list
   * @param {object} options
   * @param {string[]} options.accept suffixes, as ".pdf"
   * @param {{file_bytes: number, files: number}} options.limits
   * @param {() => unknown} options.onChange
   * @param {(id: Api.Id) => unknown} options.onBegun the conversation has got its id with its first file
   */
  constructor(list, { accept, limits, onChange, onBegun }) {
    this.list = list;
    this.accept = accept;
    this.limits = limits;
    this.onChange = onChange;
    this.onBegun = onBegun;
    /** @type {Attached[]} */
    this.all = [];
    /** @type {Api.Id | null} */
    this.sessionId = null;
    this.sendingOne = false;
    /** Grows with each conversation that is shown: what comes later for another one is dropped. */
    this.turn = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    addEventListener("beforeunload", (event) => {
      if (this.isSending) event.preventDefault();
    });
  }

  /** Whether a file is still on its way: a question waits for it. */
  get isSending() {
    return this.all.some(({ file, problem }) => file && !problem);
  }

  /** @param {Api.Id | null} sessionId @param {Api.Document[]} documents */
  show(sessionId, documents) {
    this.turn += 1;
    for (const { sending } of this.all) sending?.abort();
    this.sessionId = sessionId;
    this.all = documents.map((document) => ({ name: document.file_name, file: null, document, share: 1, problem: "", again: false }));
    this.draw();
    this.lookSoon();
  }

  /** @param {File[]} files */
  add(files) {
    const room = Math.max(0, this.limits.files - this.all.length);
    if (files.length > room) toast(gettext("A conversation can hold {count} files.", { count: this.limits.files }), { ms: 8000 });
    for (const file of files.slice(0, room)) {
      this.all.push({ name: file.name, file, document: null, share: 0, problem: refusal(file, this.accept, this.limits) ?? "", again: false });
    }
    this.draw();
    void this.sendNext();
  }

  /** One at a time: the first one gives the conversation its id. */
  async sendNext() {
    const next = this.all.find(({ file, problem }) => file && !problem);
    if (!next || this.sendingOne) return;
    this.sendingOne = true;
    const turn = this.turn;
    try {
      await this.send(next, turn);
    } finally {
      this.sendingOne = false;
      void this.sendNext();
    }
  }

  /** @param {Attached} attached @param {number} turn */
  async send(attached, turn) {
    const { file } = attached;
    if (!file) return;
    attached.sending = new AbortController();
    const form = new FormData();
    if (this.sessionId) form.append("session_id", this.sessionId);
    form.append("file", file, file.name);
    try {
      const { session_id: id, documents: [stored] } = await upload("/api/attachments", form, (share) => {
        attached.share = share;
        this.draw();
      }, attached.sending.signal);
      if (turn !== this.turn) return;
      if (!this.sessionId) {
        this.sessionId = id;
        this.onBegun(id);
      }
      attached.file = null;
      if (stored.outcome === "unchanged" || stored.outcome === "retried") this.all = this.all.filter((other) => other === attached || other.document?.id !== stored.id);
      attached.document = { ...stored, progress: 0 };
      this.lookSoon();
    } catch (error) {
      if (turn !== this.turn || /** @type {Error} */ (error).name === "AbortError") return;
      const { status, message } = /** @type {ApiError} */ (error);
      attached.problem = message;
      attached.again = status === 0 || status === 429 || status >= 500;
    }
    if (turn === this.turn) this.draw();
  }

  lookSoon() {
    clearTimeout(this.timer);
    if (this.all.some(({ document }) => document && !READ.includes(document.status))) this.timer = setTimeout(() => this.look(), LOOK_MS);
  }

  /** How far the reading is. */
  async look() {
    const turn = this.turn;
    try {
      if (!document.hidden && this.sessionId) {
        /** @type {Api.Attachments} */
        const { documents } = await api.get(`/api/attachments?session_id=${this.sessionId}`);
        if (turn !== this.turn) return;
        const known = new Map(documents.map((row) => [row.id, row]));
        this.all = this.all.filter(({ document }) => !document || known.has(document.id));
        for (const attached of this.all) if (attached.document) attached.document = known.get(attached.document.id) ?? attached.document;
        this.draw();
      }
    } catch {
      // The next look may find more.
    }
    if (turn === this.turn) this.lookSoon();
  }

  // ------------------------------------------------------------------------------------------- what is shown
  draw() {
    replace(this.list, this.all.map((attached) => this.chip(attached)));
    this.onChange();
  }

  /** @param {Attached} attached */
  chip(attached) {
    const { name, document, problem } = attached;
    const failed = problem || (document?.status === "failed" ? document.error || gettext("It could not be read.") : "");
    const state = failed || this.state(attached);
    const isBusy = !failed && document?.status !== "ready";
    return h("li", { class: `file-chip${failed ? " is-failed" : ""}`, title: name },
      isBusy ? h("span", { class: "spinner", "aria-hidden": "true" }) : icon(failed ? "warn" : "documents"),
      h("span", { class: "file-chip-name", dir: "auto" }, name),
      state ? h("span", { class: "file-chip-state", role: failed ? "alert" : null }, state) : null,
      attached.again ? h("button", { type: "button", class: "button small", onclick: () => this.again(attached) }, gettext("Try again")) : null,
      document?.status === "ready" ? this.options(attached) : null,
      document?.status === "ready" ? null : iconButton("close", gettext("Remove {name}", { name }), () => this.remove(attached), { class: "small chip-close" }));
  }

  /** @param {Attached} attached */
  state({ file, share, document }) {
    if (file) return share < 1 ? gettext("Uploading {share} %", { share: Math.round(share * 100) }) : gettext("Saving");
    if (document?.status === "ready") return "";
    return document?.status === "queued" ? gettext("Waiting to be read") : gettext("Reading {share} %", { share: Math.round((document?.progress ?? 0) * 100) });
  }

  /** @param {Attached} attached */
  options(attached) {
    const { name, document } = attached;
    const button = iconButton("more", gettext("Options of {name}", { name }), null, { class: "small chip-close" });
    menuButton(button, [
      { label: gettext("Open the document"), icon: "external", href: `/documents/${document?.id}/` },
      ...(document?.status === "ready" ? [{ label: gettext("Keep in my documents"), icon: "folder", run: () => this.keep(attached) }] : []),
      { label: gettext("Remove"), icon: "trash", danger: true, run: () => this.remove(attached) },
    ], { align: "end" });
    return button;
  }

  // ------------------------------------------------------------------------------------------- what its buttons do
  /** @param {Attached} attached */
  again(attached) {
    Object.assign(attached, { problem: "", again: false, share: 0 });
    this.draw();
    void this.sendNext();
  }

  /** @param {Attached} attached */
  async remove(attached) {
    attached.sending?.abort();
    try {
      if (attached.document?.id) await api.delete(`/api/documents/${attached.document.id}`);
    } catch (error) {
      if (/** @type {ApiError} */ (error).status !== 404) {
        errorToast(error);
        return;
      }
    }
    this.drop(attached);
  }

  /** @param {Attached} attached */
  async keep(attached) {
    const field = { name: "collection", label: gettext("Collection"), value: "documents", required: true, maxlength: 100, help: gettext("If you have none with this name, it is created.") };
    const done = await formDialog(gettext("Keep in my documents"), [field], {
      confirm: gettext("Keep"),
      save: async ({ collection }) => {
        await api.post("/api/collections", { name: collection }).catch((error) => {
          if (error.status !== 409) throw error; // it is there
        });
        const { results: [{ outcome, error }] } = await api.post("/api/documents/bulk", { action: "move", ids: [attached.document?.id], collection });
        if (outcome === "refused") throw new ApiError(409, "refused", error);
        toast(gettext("Kept in “{collection}”, and searched there from now on.", { collection }));
      },
    });
    if (done) this.drop(attached);
  }

  /** What was refused has been said by now. */
  forgetRefused() {
    this.all = this.all.filter(({ document, problem }) => document || !problem);
    this.draw();
  }

  /** @param {Attached} attached */
  drop(attached) {
    this.all = this.all.filter((other) => other !== attached);
    this.draw();
  }
}
