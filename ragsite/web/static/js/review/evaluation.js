// Evaluation: charts over time, measuring now, progress, alarms, and the settings of a set.
import { api, ApiError } from "../api.js";
import { bootData, byId } from "../dom.js";
import { gettext } from "../i18n.js";
import { confirmDialog, errorToast } from "../ui.js";
import { colour, legend, onThemeChange } from "./charts.js";
import { sentences } from "./problems.js";

/**
 * @typedef {{at: string, url: string, score: number | null, right: number | null, alarm: boolean, worse: string[]}} Point
 * @typedef {{label: string, stage: string, points: {x: number, y: number | null, point: Point}[]}} Line
 */
/** @type {{open: string[], set?: string, lines?: {name: string, points: Point[]}[], stages?: string[], history?: (Point & {figures: Record<string, number>})[]}} */
const boot = bootData();
const FIRST_MS = 1000;
const LONGEST_MS = 6000;
const HOUR_MS = 3600 * 1000;
const COLOURS = ["accent", "amber", "ink", "ink-3", "accent", "amber", "ink"];
const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3]];

// ------------------------------------------------------------------------------------------------ charts
/** @type {any} */
let drawn = null;

/** Runs lie where their times do. @param {string} at */
const time = (at) => Date.parse(at.replace(" ", "T"));

/** @returns {[string, Line[]] | null} */
function lines() {
  if (boot.history && boot.stages && document.getElementById("chart-stages")) {
    const { history, stages } = boot;
    /** @type {Line[]} */
    const made = stages.map((stage) => ({
      label: stage, stage,
      points: history.map((point) => ({ x: time(point.at), y: point.figures[stage] ?? null, point })),
    }));
    if (history.some((point) => point.right !== null)) {
      made.push({ label: gettext("Right decisions"), stage: "decisions", points: history.map((point) => ({ x: time(point.at), y: point.right, point })) });
    }
    return ["chart-stages", made];
  }
  if (boot.lines?.length) {
    return ["chart-sets", boot.lines.map((line) => ({
      label: line.name, stage: "", points: line.points.map((point) => ({ x: time(point.at), y: point.score ?? point.right, point })),
    }))];
  }
  return null;
}

/** @param {number} part */
const two = (part) => String(part).padStart(2, "0");

/** A tick: the day, with the hour where all runs lie within a few days. @param {number} ms @param {boolean} hours */
function tick(ms, hours) {
  const at = new Date(ms);
  const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return hours ? `${day} ${two(at.getHours())}:${two(at.getMinutes())}` : day;
}

function draw() {
  const found = lines();
  if (!found) return;
  const [id, made] = found;
  const { Chart } = /** @type {any} */ (window);
  drawn?.destroy();
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const all = made.flatMap((line) => line.points);
  const times = all.map((point) => point.x);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const hours = last - first < 3 * 24 * HOUR_MS;
  const room = first === last ? HOUR_MS : 0; // runs of one minute would be drawn on an axis of years
  const lowest = Math.min(...all.map((point) => point.y ?? 1));
  const [grid, text, red] = [colour("line"), colour("ink-3"), colour("red")];
  drawn = new Chart(byId(id), {
    type: "line",
    data: {
      datasets: made.map((line, at) => {
        const own = colour(COLOURS[at % COLOURS.length]);
        const alarms = line.points.map(({ point }) => (line.stage ? point.worse.includes(line.stage) : point.alarm));
        return {
          type: "line", label: line.label, data: line.points, borderColor: own, backgroundColor: own, borderWidth: 2,
          borderDash: DASHES[Math.floor(at / 2) % DASHES.length], spanGaps: true, tension: 0,
          pointRadius: alarms.map((alarm) => (alarm ? 5 : 2.5)),
          pointBackgroundColor: alarms.map((alarm) => (alarm ? red : own)), pointBorderColor: alarms.map((alarm) => (alarm ? red : own)),
        };
      }),
    },
    options: {
      animation: false, responsive: true, maintainAspectRatio: false,
      interaction: { mode: "nearest", intersect: false, axis: "x" },
      onClick: (/** @type {Event} */ _event, /** @type {any[]} */ hits) => {
        if (hits.length) location.assign(made[hits[0].datasetIndex].points[hits[0].index].point.url);
      },
      scales: {
        x: { type: "linear", min: first - room, max: last + room, grid: { display: false }, border: { color: grid }, ticks: { color: text, maxRotation: 0, autoSkipPadding: 14, maxTicksLimit: 8, callback: (/** @type {number} */ ms) => tick(ms, hours) } },
        y: { min: Math.max(0, Math.floor(10 * lowest - 0.5) / 10), suggestedMax: 1, grid: { color: grid }, border: { display: false }, ticks: { color: text } },
      },
      plugins: {
        legend: { position: "bottom", labels: { color: text, usePointStyle: true, pointStyleWidth: 24, boxHeight: 8, generateLabels: legend } },
        tooltip: {
          backgroundColor: colour("ink"), titleColor: colour("page"), bodyColor: colour("page"),
          callbacks: {
            title: (/** @type {any[]} */ items) => items[0]?.raw.point.at ?? "",
            label: (/** @type {any} */ item) => `${item.dataset.label}: ${item.raw.y.toFixed(3)}`,
          },
        },
      },
    },
  });
}

if (lines()) {
  draw();
  onThemeChange(draw);
}

// ------------------------------------------------------------------------------------------------ runs
/** @param {string} name @param {(button: HTMLElement, value: string) => Promise<unknown>} act */
function onButtons(name, act) {
  for (const button of document.querySelectorAll(`[data-${name}]`)) {
    if (!(button instanceof HTMLButtonElement)) continue;
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await act(button, button.getAttribute(`data-${name}`) || "");
      } catch (error) {
        errorToast(error);
        button.disabled = false;
      }
    });
  }
}

onButtons("measure", async (_button, id) => {
  const workflow = document.getElementById("measure-workflow");
  await api.post(`/api/review/evaluation/sets/${id}/runs`, workflow instanceof HTMLSelectElement ? { workflow: workflow.value } : {});
  location.reload();
});
onButtons("cancel", async (_button, id) => {
  await api.post(`/api/review/evaluation/runs/${id}/cancel`, {});
  location.reload();
});
onButtons("add-golden", async (_button, golden) => {
  const made = await api.post("/api/review/evaluation/sets", { golden });
  location.assign(made.url);
});
onButtons("acknowledge", async (button, id) => {
  const accept = button.hasAttribute("data-accept");
  if (accept) {
    const text = gettext("Later runs are then compared with this one, and what it shows rings no more.");
    if (!(await confirmDialog(gettext("Take it as the new level?"), text, { confirm: gettext("Take it"), danger: false }))) {
      /** @type {HTMLButtonElement} */ (button).disabled = false;
      return;
    }
  }
  await api.post(`/api/review/evaluation/runs/${id}/acknowledge`, { accept });
  location.reload();
});

let pause = FIRST_MS;

async function look() {
  for (const id of boot.open) {
    try {
      const run = await api.get(`/api/review/evaluation/runs/${id}`);
      if (!["queued", "running"].includes(run.status)) return location.reload();
      const row = document.querySelector(`[data-run="${id}"]`);
      const bar = row?.querySelector("progress");
      const said = row?.querySelector("[data-run-text]");
      if (bar) bar.value = Math.round(100 * run.progress);
      if (said && run.status === "running") said.textContent = [`${Math.round(100 * run.progress)} %`, activity(run)].filter(Boolean).join(" · ");
    } catch (error) {
      errorToast(error);
    }
  }
  pause = Math.min(pause * 1.3, LONGEST_MS);
  setTimeout(look, pause);
}

/** @param {{activity: {label: string, done: number, total: number} | null}} run */
function activity(run) {
  if (!run.activity?.label) return "";
  const names = /** @type {Record<string, string>} */ ({
    "cut documents": gettext("Cutting documents"), "embed documents": gettext("Embedding documents"),
    "analyse chunks": gettext("Analysing chunks"), "write the index": gettext("Writing the index"),
    "embed questions": gettext("Embedding questions"), decisions: gettext("Decisions"),
  });
  return `${names[run.activity.label] ?? run.activity.label} ${run.activity.done} / ${run.activity.total}`;
}

if (boot.open.length) setTimeout(look, pause);

// ------------------------------------------------------------------------------------------------ a set's page
const compare = document.getElementById("compare");
if (compare instanceof HTMLButtonElement && compare.form) {
  const form = compare.form;
  const check = () => {
    const chosen = new FormData(form);
    compare.disabled = !chosen.get("a") || !chosen.get("b") || chosen.get("a") === chosen.get("b");
  };
  form.addEventListener("change", check);
  check();
}

const settings = document.getElementById("set-form");
if (settings instanceof HTMLFormElement) {
  const problem = byId("set-error");
  settings.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    const given = new FormData(settings);
    const name = given.get("name");
    try {
      await api.patch(`/api/review/evaluation/sets/${boot.set}`, {
        stages: given.getAll("stages"), limit: Number(given.get("limit")), margin: Number(given.get("margin")) / 100,
        nightly: given.get("nightly") !== null, ...(given.has("workflow") ? { workflow: given.get("workflow") } : {}),
        ...(name === null ? {} : { name }),
      });
      location.reload();
    } catch (error) {
      problem.textContent = error instanceof ApiError ? [error.message, ...sentences(error.fields)].filter((said, at, all) => all.indexOf(said) === at).slice(0, 2).join(" ") : gettext("The site did not answer; try again.");
      problem.hidden = false;
    }
  });
}

const remove = document.getElementById("delete-set");
remove?.addEventListener("click", async () => {
  const title = gettext("Delete {name}?", { name: remove.dataset.name || "" });
  const text = gettext("Its runs and figures go with it, and so do the files of an imported set. Golden questions stay.");
  if (!(await confirmDialog(title, text))) return;
  await api.delete(`/api/review/evaluation/sets/${boot.set}`).then(() => location.assign("/review/evaluation/"), errorToast);
});
