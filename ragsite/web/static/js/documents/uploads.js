// Choosing files and sending them, each with its own progress. What the server then does with them shows in the list.
import { ApiError, api, upload } from "../api.js";
import { bytes, h, icon, iconButton, replace } from "../dom.js";
import { listenForDrops, refusal } from "../files.js";
import { gettext } from "../i18n.js";
import { toast } from "../ui.js";

const AT_ONCE = 2;
const KEPT_MS = 2500;
const POLL_MS = 1200;
const LOOKED_UP = 5; // of the documents that are being read, at a time

/**
 * @typedef {{element: HTMLElement, bar: HTMLProgressElement, note: HTMLElement}} Row
 * @typedef {{file: File, row: Row, fields: Record<string, string>}} Job
 */

export class Uploads {
  /**
   * @param {object} options
   * @param {Promise<unknown>} options.ready when the target is known; files wait for it
   * @param {HTMLInputElement} options.input
   * @param {HTMLElement} options.list
   * @param {HTMLElement} options.summary of several files, in a line
   * @param {string[]} options.accept suffixes, as ".pdf"
   * @param {Boot.Documents["limits"]} options.limits
   * @param {() => Record<string, string>} options.target the form fields that go with a file
   * @param {() => unknown} options.onStored after each file
   * @param {(sentence: string) => unknown} options.onAllRead with what became of several files
   */
  constructor({ ready, input, list, summary, accept, limits, target, onStored, onAllRead }) {
    this.list = list;
    this.summary = summary;
    this.accept = accept;
    this.limits = limits;
    this.target = target;
    this.onStored = onStored;
    this.onAllRead = onAllRead;
    /** @type {Job[]} */
    this.waiting = [];
    this.running = 0;
    this.refused = 0; // since the first of those that are on their way, as the documents
    /** @type {Map<Api.Id, Api.Document["status"]>} */
    this.documents = new Map();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    input.setAttribute("accept", accept.join(","));
    input.addEventListener("change", () => {
      const files = [...(input.files || [])];
      input.value = "";
      ready.then(() => this.add(files));
    });
    listenForDrops((files) => ready.then(() => this.add(files)));
    addEventListener("beforeunload", (event) => {
      if (this.running) event.preventDefault();
    });
  }

  /** @param {File[]} files */
  add(files) {
    if (!this.isUnderWay()) {
      this.refused = 0;
      this.documents.clear();
    }
    if (files.length > this.limits.files) {
      toast(gettext("At most {count} files at once. Only the first {count} are uploaded.", { count: this.limits.files }), { ms: 8000 });
    }
    for (const file of files.slice(0, this.limits.files)) {
      const row = this.row(file);
      const problem = this.refuse(file);
      if (problem) this.fail(row, problem, null);
      else this.waiting.push({ file, row, fields: this.target() });
    }
    this.sumUp();
    this.next();
  }

  /** Those that are not read yet. @returns {Api.Id[]} */
  unread() {
    return [...this.documents].filter(([, status]) => status !== "ready" && status !== "failed").map(([id]) => id);
  }

  /** Whether it is one of several, which are told of together. @param {Api.Id} id */
  counts(id) {
    return this.documents.has(id) && !this.summary.hidden;
  }

  isUnderWay() {
    return this.running + this.waiting.length + this.unread().length > 0;
  }

  /** Until none is being read any more. */
  async lookUp() {
    for (const id of this.unread().slice(0, LOOKED_UP)) {
      try {
        this.documents.set(id, (await api.get(`/api/documents/${id}`)).status);
      } catch (error) {
        if (/** @type {ApiError} */ (error).status === 404) this.documents.delete(id);
      }
    }
    this.sumUp();
    if (this.unread().length) this.timer = setTimeout(() => this.lookUp(), POLL_MS);
    else this.timer = undefined;
  }

  /** Why a file is not sent; null where it is. @param {Pick<File, "name" | "size">} file */
  refuse(file) {
    return refusal(file, this.accept, this.limits);
  }

  /** @param {File} file @returns {Row} */
  row(file) {
    const bar = h("progress", { max: 1, value: 0, "aria-label": gettext("Upload of {name}", { name: file.name }) });
    const note = h("span", { class: "upload-note" }, gettext("Waiting"));
    const element = h("li", { class: "upload" }, icon("documents"), h("span", { class: "upload-name" }, file.name), h("span", { class: "upload-size" }, bytes(file.size)), bar, note);
    this.list.append(element);
    return { element, bar, note };
  }

  next() {
    while (this.running < AT_ONCE) {
      const job = this.waiting.shift();
      if (!job) return;
      this.send(job);
    }
  }

  /** @param {Job} job */
  async send(job) {
    const { file, row, fields } = job;
    this.running += 1;
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
    form.append("file", file, file.name);
    try {
      const { documents } = await upload("/api/documents", form, (share) => {
        row.bar.value = share;
        row.note.textContent = share < 1 ? `${Math.round(share * 100)} %` : gettext("Saving");
      });
      this.stored(row, documents);
    } catch (error) {
      const { status, message } = /** @type {ApiError} */ (error);
      this.fail(row, message, status === 0 || status === 429 || status >= 500 ? job : null);
    } finally {
      this.running -= 1;
      this.next();
      this.sumUp();
    }
  }

  /** What became of several files, in a line. */
  sumUp() {
    const statuses = [...this.documents.values()];
    const ready = statuses.filter((status) => status === "ready").length;
    const refused = this.refused + statuses.filter((status) => status === "failed").length;
    const rest = this.running + this.waiting.length + statuses.length - ready - (refused - this.refused);
    this.summary.hidden = ready + refused + rest < 2;
    if (this.summary.hidden) return;
    const line = [
      ready ? gettext("{count} ready", { count: ready }) : "",
      rest ? gettext("{count} being read", { count: rest }) : "",
      refused ? gettext("{count} could not be read", { count: refused }) : "",
    ].filter(Boolean).join(gettext(", "));
    if (line === this.summary.textContent) return;
    this.summary.textContent = line;
    if (!rest) this.onAllRead(line);
  }

  /** @param {Row} row @param {Api.UploadedDocument[]} documents */
  stored(row, documents) {
    row.bar.remove();
    const refused = documents.find(({ outcome }) => outcome === "refused");
    if (refused) {
      this.fail(row, refused.error, null);
      return;
    }
    row.element.classList.add("is-done");
    const { id, outcome, status } = documents[0];
    if (id) this.documents.set(id, status);
    this.timer ??= setTimeout(() => this.lookUp(), POLL_MS);
    row.note.textContent = outcome === "unchanged" ? gettext("Already there") : outcome === "retried" ? gettext("Reading it again") : gettext("Uploaded");
    setTimeout(() => row.element.remove(), KEPT_MS);
    this.onStored();
  }

  /** @param {Row} row @param {string} message @param {Job | null} job to try again; null: that would not help */
  fail(row, message, job) {
    this.refused += 1;
    row.bar.remove();
    row.element.classList.add("is-failed");
    row.note.setAttribute("role", "alert");
    const again = (/** @type {Job} */ job) => {
      row.element.remove();
      this.refused -= 1;
      this.waiting.push({ ...job, row: this.row(job.file) });
      this.next();
    };
    replace(row.note, message);
    row.element.append(h("span", { class: "upload-actions" },
      job ? h("button", { type: "button", class: "button small", onclick: () => again(job) }, gettext("Try again")) : null,
      iconButton("close", gettext("Dismiss"), () => row.element.remove(), { class: "small" })));
  }
}
