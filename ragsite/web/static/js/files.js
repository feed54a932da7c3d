// Files that people choose, drop or paste.
import { gettext } from "./i18n.js";

/**
 * The page is marked (`is-dropping`) while files are over it.
 * @param {(files: File[]) => unknown} onFiles
 */
export function listenForDrops(onFiles) {
  let depth = 0;
  const hasFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
  const mark = (/** @type {boolean} */ over) => document.documentElement.classList.toggle("is-dropping", over);
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
    if (!event.dataTransfer || !hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    mark(false);
    onFiles(await droppedFiles(event.dataTransfer));
  });
}

/** The files of a drop, those in folders too. @param {DataTransfer} transfer */
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry !== null && entry !== undefined);
  if (!entries.length) return [...transfer.files];
  /** @type {File[]} */
  const files = [];
  const walk = async (/** @type {FileSystemEntry} */ entry) => {
    if (entry.isFile) {
      /** @type {File} */
      const file = await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));
      if (!file.name.startsWith(".")) files.push(file);
      return;
    }
    const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
    for (;;) {
      /** @type {FileSystemEntry[]} */
      const inside = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!inside.length) return;
      for (const inner of inside) await walk(inner);
    }
  };
  for (const entry of entries) await walk(entry);
  return files;
}

/**
 * Why a file is not sent; null where it is.
 * @param {Pick<File, "name" | "size">} file
 * @param {string[]} accept suffixes, as ".pdf"
 * @param {{file_bytes: number}} limits
 */
export function refusal(file, accept, limits) {
  const suffix = file.name.includes(".") ? file.name.slice(file.name.lastIndexOf(".")).toLowerCase() : "";
  if (!accept.includes(suffix)) return gettext("This kind of file cannot be read. Use {kinds}.", { kinds: accept.map((accepted) => accepted.slice(1)).join(gettext(", ")) });
  if (file.size > limits.file_bytes) return gettext("Larger than {limit} MiB; split it.", { limit: Math.round(limits.file_bytes / 1048576) });
  if (file.size === 0) return gettext("The file is empty.");
  return null;
}
