// What the desk's charts share: colours of the theme, the legend, and drawing anew when the theme changes.
import { h } from "../dom.js";

/** A colour of the theme as it is now. @param {string} name */
export function colour(name) {
  const probe = h("span", { hidden: true });
  document.body.append(probe);
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Lines as lines, with their dashes, and bars as boxes. @param {any} drawn */
export function legend(drawn) {
  const { Chart } = /** @type {any} */ (window);
  return Chart.defaults.plugins.legend.labels.generateLabels(drawn).map((/** @type {any} */ item) => ({
    ...item, pointStyle: drawn.data.datasets[item.datasetIndex].type === "line" ? "line" : "rect", fontColor: colour("ink-3"),
  }));
}

/** @param {() => void} draw */
export function onThemeChange(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}
