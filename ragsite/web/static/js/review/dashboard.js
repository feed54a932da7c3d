// The dashboard's charts, drawn by Chart.js from the same figures as the tables below them.
import { bootData, byId, h } from "../dom.js";
import { DATES, gettext } from "../i18n.js";

/**
 * @typedef {{p50: number | null, p95: number | null}} Percentiles
 * @typedef {{key: string, label: string, answers: number, users: number, answered: number, clarified: number,
 *   no_answer: number, cut: number, unconfirmed: number, weak: number, degraded: number, rated_good: number, rated_bad: number,
 *   llm_calls: number, llm_rounds: number, prompt_tokens: number, completion_tokens: number,
 *   first_token_ms: Percentiles, total_ms: Percentiles}} Row
 */
/** @type {{days: Row[]}} */
const boot = bootData();
const FEWEST_DAYS = 7;
const Chart = /** @type {any} */ (window).Chart;
/** @type {any[]} */
let charts = [];

/** A colour of the theme as it is now. @param {string} name */
function colour(name) {
  const probe = h("span", { hidden: true });
  document.body.append(probe);
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Without the empty days before the first answer, as long as a week is left. */
const begins = Math.max(0, Math.min(boot.days.findIndex((row) => row.answers), boot.days.length - FEWEST_DAYS));
const shownDays = boot.days.slice(begins);
const days = shownDays.map((row) => new Date(`${row.key}T12:00`).toLocaleDateString(DATES, { day: "numeric", month: "short" }));
/** @param {(row: Row) => number | null | undefined} value */
const ofDays = (value) => shownDays.map(value);
/** @param {number | null} ms */
const seconds = (ms) => (ms === null ? null : Math.round(ms / 10) / 100);
/** @param {number} part @param {number} whole */
const percent = (part, whole) => (whole ? Math.round((1000 * part) / whole) / 10 : null);

/** @param {string} label @param {any[]} data @param {string} name of a colour @param {object} more */
const bar = (label, data, name, more = {}) => ({ type: "bar", label, data, backgroundColor: colour(name), borderRadius: 2, maxBarThickness: 28, ...more });
/** @param {string} label @param {any[]} data @param {string} name of a colour @param {object} more */
const line = (label, data, name, more = {}) => ({ type: "line", label, data, borderColor: colour(name), backgroundColor: colour(name), borderWidth: 2, pointRadius: days.length > 40 ? 0 : 2, tension: 0, spanGaps: true, ...more });

/** @param {string} id @param {any[]} datasets @param {{stacked?: boolean, second?: boolean}} how */
function chart(id, datasets, { stacked = false, second = false } = {}) {
  const empty = datasets.every(({ data }) => data.every((/** @type {number | null} */ value) => !value));
  const figure = byId(id).closest("figure");
  if (figure) figure.hidden = empty; // bare axes say nothing; the tables have the zeros
  if (empty) return;
  const [grid, text] = [colour("line"), colour("ink-3")];
  const ticks = { color: text, maxRotation: 0, autoSkipPadding: 14, precision: 0 };
  const values = { beginAtZero: true, stacked, grid: { color: grid }, border: { display: false }, ticks };
  const names = { stacked, grid: { display: false }, border: { color: grid }, ticks: { ...ticks, precision: undefined } };
  charts.push(new Chart(byId(id), {
    data: { labels: days, datasets },
    options: {
      animation: false, responsive: true, maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: names,
        y: values,
        ...(second ? { y2: { ...values, stacked: false, position: "right", grid: { display: false } } } : {}),
      },
      plugins: { legend: { position: "bottom", labels: { color: text, usePointStyle: true, pointStyleWidth: 20, boxHeight: 8 } }, tooltip: { backgroundColor: colour("ink"), titleColor: colour("page"), bodyColor: colour("page") } },
    },
  }));
}

function draw() {
  for (const drawn of charts) drawn.destroy();
  charts = [];
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  chart("chart-questions", [
    bar(gettext("Answered"), ofDays((row) => row.answered), "accent"),
    bar(gettext("Asked back"), ofDays((row) => row.clarified), "amber"),
    bar(gettext("No answer"), ofDays((row) => row.no_answer), "red"),
    bar(gettext("Interrupted"), ofDays((row) => row.answers - row.answered - row.clarified - row.no_answer), "line-2"),
    line(gettext("Users"), ofDays((row) => row.users), "ink-2", { yAxisID: "y2" }),
  ], { stacked: true, second: true });
  chart("chart-ratings", [
    bar(gettext("Thumbs up"), ofDays((row) => row.rated_good), "accent"),
    bar(gettext("Thumbs down"), ofDays((row) => row.rated_bad), "red"),
  ], { stacked: true });
  chart("chart-times", [
    line(gettext("First words, median"), ofDays((row) => seconds(row.first_token_ms.p50)), "accent"),
    line(gettext("First words, p95"), ofDays((row) => seconds(row.first_token_ms.p95)), "accent", { borderDash: [4, 4] }),
    line(gettext("Total time, median"), ofDays((row) => seconds(row.total_ms.p50)), "amber"),
    line(gettext("Total time, p95"), ofDays((row) => seconds(row.total_ms.p95)), "amber", { borderDash: [4, 4] }),
  ]);
  chart("chart-trouble", [
    line(gettext("Done another way"), ofDays((row) => percent(row.degraded, row.answers)), "amber"),
    line(gettext("Not confirmed"), ofDays((row) => percent(row.unconfirmed, row.answers)), "accent"),
    line(gettext("Weakly supported"), ofDays((row) => percent(row.weak, row.answers)), "red"),
  ]);
}

if (boot.days.some((row) => row.answers)) {
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}
