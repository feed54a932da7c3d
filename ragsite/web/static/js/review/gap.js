// A knowledge gap: while a document is read or questions are asked again, the page looks again.
import { api } from "../api.js";
import { bootData } from "../dom.js";

const FIRST_MS = 1500;
const LONGEST_MS = 10_000;

/** @type {{gap: string, waits: boolean}} */
const boot = bootData();
let pause = FIRST_MS;
let writing = false;

document.addEventListener("input", () => { writing = true; });

async function look() {
  try {
    const { busy } = await api.get(boot.gap);
    if (!busy && !writing) return location.reload();
    if (!busy) return undefined;
  } catch { /* The next look may succeed. */ }
  pause = Math.min(pause * 1.4, LONGEST_MS);
  return setTimeout(look, pause);
}

if (boot.waits) setTimeout(look, pause);
