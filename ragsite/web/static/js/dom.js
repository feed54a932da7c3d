// Building and formatting. Text from people and models only ever becomes text nodes here.

/** An element: `h("a", {class: "x", href: "/", onclick: fn}, "text", child)`. null, undefined and false children are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

const SVG = "http://www.w3.org/2000/svg";

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${document.querySelector("[data-icons]").dataset.icons}#${name}`);
  svg.append(use);
  return svg;
}

export function iconButton(name, label, onclick, attributes = {}) {
  const { class: extra = "", ...rest } = attributes;
  return h("button", { type: "button", class: `icon-button ${extra}`, "aria-label": label, title: label, onclick, ...rest }, icon(name));
}

/** The JSON that the page was rendered with. */
export function bootData() {
  return JSON.parse(document.getElementById("boot").textContent);
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function seconds(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function bytes(count) {
  if (!count) return "";
  const units = ["B", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log(count) / Math.log(1000)), units.length - 1);
  const value = count / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

export function dayOf(isoTime) {
  const date = new Date(isoTime);
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const days = Math.ceil((midnight - date) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "This week";
  if (days < 31) return "This month";
  return date.toLocaleDateString("en", { month: "long", year: "numeric" });
}

export function dateOf(isoTime) {
  const date = new Date(isoTime);
  return date.toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

export function debounce(action, wait) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}

export const store = {
  get(key) {
    try {
      return localStorage.getItem(`ragsite.${key}`);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      if (value === null || value === "") localStorage.removeItem(`ragsite.${key}`);
      else localStorage.setItem(`ragsite.${key}`, value);
    } catch {
      // Storage is full or blocked: what is kept here is a convenience.
    }
  },
};
