// A replay, or a job of many, that has not ended: look again, and show the page anew when it has.
import { api } from "../api.js";
import { bootData, byId } from "../dom.js";
import { errorToast } from "../ui.js";

const FIRST_MS = 700;
const LONGEST_MS = 5000;

/** @type {{replay?: string, batch?: string}} */
const boot = bootData();
const address = boot.batch ? `/api/review/replay-batches/${boot.batch}` : `/api/review/replays/${boot.replay}`;
let pause = FIRST_MS;

/** @param {number} done @param {number} total */
function show(done, total) {
  const bar = /** @type {HTMLProgressElement} */ (byId("progress"));
  bar.max = Math.max(total, 1);
  bar.value = done;
  byId("progress-text").textContent = `${done} / ${total}`;
}

async function look() {
  try {
    const now = await api.get(address);
    if (boot.batch) {
      show(now.ended, now.total);
      if (now.ended >= now.total) return location.reload();
    } else if (!["queued", "running"].includes(now.status)) {
      return location.reload();
    }
  } catch (error) {
    errorToast(error);
  }
  pause = Math.min(pause * 1.4, LONGEST_MS);
  setTimeout(look, pause);
}

setTimeout(look, pause);
byId("cancel").addEventListener("click", async () => {
  await api.post(`${address}/cancel`, {}).then(() => location.reload(), errorToast);
});
