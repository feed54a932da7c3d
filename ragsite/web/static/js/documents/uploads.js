// Choosing files and sending them, each with its own progress. What the server then does with them shows in the list.
import { upload } from "../api.js";
import { bytes, h, icon, iconButton, replace } from "../dom.js";
import { toast } from "../ui.js";

const AT_ONCE = 2;
const KEPT_MS = 2500;

export class Uploads {
  /** `target()` gives the form fields for a file; `onStored(documents)` after each file. */
  constructor({ zone, input, list, accept, limits, target, onStored }) {
    Object.assign(this, { zone, input, list, accept, limits, target, onStored });
    this.waiting = [];
    this.running = 0;
    input.setAttribute("accept", accept.join(","));
    input.addEventListener("change", () => {
      this.add([...input.files]);
      input.value = "";
    });
    this.listenForDrops();
    addEventListener("beforeunload", (event) => {
      if (this.running) event.preventDefault();
    });
  }

  listenForDrops() {
    let depth = 0;
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const mark = (over) => document.documentElement.classList.toggle("is-dropping", over);
    addEventListener("dragenter", (event) => {
      if (!hasFiles(event)) return;
      depth += 1;
      mark(true);
    });
    addEventListener("dragleave", (event) => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) mark(false);
    });
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("drop", async (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      mark(false);
      this.add(await droppedFiles(event.dataTransfer));
    });
  }

  add(files) {
    if (files.length > this.limits.files) {
      toast(`At most ${this.limits.files} files at once; the first ${this.limits.files} are taken.`, { ms: 8000 });
    }
    for (const file of files.slice(0, this.limits.files)) {
      const row = this.row(file);
      const problem = this.refuse(file);
      if (problem) this.fail(row, problem, null);
      else this.waiting.push({ file, row, fields: this.target() });
    }
    this.next();
  }

  refuse(file) {
    const suffix = file.name.includes(".") ? file.name.slice(file.name.lastIndexOf(".")).toLowerCase() : "";
    if (!this.accept.includes(suffix)) return `This kind of file cannot be read. Use ${this.accept.map((one) => one.slice(1)).join(", ")}.`;
    if (file.size > this.limits.file_bytes) return `Larger than ${Math.round(this.limits.file_bytes / 1048576)} MiB; split it.`;
    if (file.size === 0) return "The file is empty.";
    return null;
  }

  row(file) {
    const bar = h("progress", { max: 1, value: 0, "aria-label": `Upload of ${file.name}` });
    const note = h("span", { class: "upload-note" }, "Waiting");
    const element = h("li", { class: "upload" }, icon("documents"), h("span", { class: "upload-name" }, file.name), h("span", { class: "upload-size" }, bytes(file.size)), bar, note);
    this.list.append(element);
    return { element, bar, note };
  }

  next() {
    while (this.running < AT_ONCE && this.waiting.length) this.send(this.waiting.shift());
  }

  async send(job) {
    const { file, row, fields } = job;
    this.running += 1;
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
    form.append("file", file, file.name);
    try {
      const { documents } = await upload("/api/documents", form, (share) => {
        row.bar.value = share;
        row.note.textContent = share < 1 ? `${Math.round(share * 100)} %` : "Storing";
      });
      this.stored(row, documents);
    } catch (error) {
      this.fail(row, error.message, error.status === 0 || error.status === 429 || error.status >= 500 ? job : null);
    } finally {
      this.running -= 1;
      this.next();
    }
  }

  stored(row, documents) {
    row.bar.remove();
    const refused = documents.find(({ outcome }) => outcome === "refused");
    if (refused) {
      this.fail(row, refused.error, null);
      return;
    }
    row.element.classList.add("is-done");
    row.note.textContent = { unchanged: "Already there", retried: "Reading it again" }[documents[0].outcome] || "Uploaded";
    setTimeout(() => row.element.remove(), KEPT_MS);
    this.onStored(documents);
  }

  fail(row, message, job) {
    row.bar.remove();
    row.element.classList.add("is-failed");
    row.note.setAttribute("role", "alert");
    const again = () => {
      row.element.remove();
      this.waiting.push({ ...job, row: this.row(job.file) });
      this.next();
    };
    replace(row.note, message);
    row.element.append(h("span", { class: "upload-actions" },
      job ? h("button", { type: "button", class: "button small", onclick: again }, "Try again") : null,
      iconButton("close", "Dismiss", () => row.element.remove(), { class: "small" })));
  }
}

/** The files of a drop, those in folders too. */
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  const files = [];
  const walk = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      if (!file.name.startsWith(".")) files.push(file);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return;
      for (const one of some) await walk(one);
    }
  };
  for (const entry of entries) await walk(entry);
  return files;
}
