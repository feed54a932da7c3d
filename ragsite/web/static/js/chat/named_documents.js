// Documents that a question is about, as chips above it, and what is asked of them as a whole.
import { api } from "../api.js";
import { TASKS } from "../document_tasks.js";
import { h, icon, iconButton, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { errorToast } from "../ui.js";

export class NamedDocuments {
  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
    /** @type {Pick<Api.Document, "id" | "title">[]} */
    this.documents = [];
    /** @type {Api.Task | null} null: a question about them */
    this.task = null;
  }

  /**
   * Those that the address of the page names. What may not be read is left out, and said.
   * @param {URLSearchParams} named
   * @returns {Promise<string>} words for the task
   */
  async name(named) {
    const ids = (named.get("documents") || "").split(",").filter(Boolean);
    const found = await Promise.allSettled(ids.map((id) => api.get(`/api/documents/${encodeURIComponent(id)}`)));
    for (const one of found) if (one.status === "rejected") errorToast(one.reason);
    this.documents = found.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
    const task = /** @type {Api.Task} */ (named.get("task"));
    this.task = task in TASKS && this.documents.length === ids.length ? task : null;
    this.draw();
    return this.task ? TASKS[this.task].words(this.documents.map(({ title }) => title)) : "";
  }

  /** The fields of a question. */
  settings() {
    if (!this.documents.length) return {};
    return { documents: this.documents.map(({ id }) => id), ...(this.task ? { task: this.task } : {}) };
  }

  /** The question has been taken: what comes next is asked about the same documents. */
  taken() {
    this.task = null;
    this.draw();
  }

  clear() {
    this.documents = [];
    this.taken();
  }

  /** @param {Api.Id} id */
  remove(id) {
    this.documents = this.documents.filter((document) => document.id !== id);
    if (!this.documents.length || this.task === "compare") this.task = null;
    this.draw();
  }

  draw() {
    const chip = (/** @type {string} */ name, /** @type {string} */ symbol, /** @type {() => unknown} */ remove) => h("li", { class: "file-chip", title: name },
      icon(symbol), h("span", { class: "file-chip-name", dir: "auto" }, name),
      iconButton("close", gettext("Remove {name}", { name }), remove, { class: "small chip-close" }));
    replace(this.list,
      this.task ? chip(TASKS[this.task].label, TASKS[this.task].icon, () => this.taken()) : null,
      this.documents.map(({ id, title }) => chip(title, "documents", () => this.remove(id))));
  }
}
