// Building and formatting. Text from people and models only ever becomes text nodes here.
import { DATES, gettext } from "./i18n.js";

/**
 * An element: `h("a", {class: "x", href: "/", onclick: fn}, "text", child)`. null, undefined and false children are left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Ui.Attributes} attributes
 * @param {...Ui.Child} children
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value") /** @type {HTMLInputElement} */ (element).value = /** @type {string} */ (value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** @param {Element} element @param {Ui.Child[]} children */
export function append(element, children) {
  for (const child of /** @type {any[]} */ (children).flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** @param {Element} element @param {...Ui.Child} children */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${query(document, "[data-icons]").dataset.icons}#${name}`);
  svg.append(use);
  return svg;
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Ui.Attributes["onclick"]} onclick
 * @param {Ui.Attributes} attributes
 */
export function iconButton(name, label, onclick, attributes = {}) {
  const { class: extra = "", ...rest } = attributes;
  return h("button", { type: "button", class: `icon-button ${extra}`, "aria-label": label, title: label, onclick, ...rest }, icon(name));
}

/**
 * The element that a selector finds; the page has to have it, and it has to be of this kind.
 * @template {Element} [Kind=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Kind} kind
 */
export function query(root, selector, kind = /** @type {any} */ (HTMLElement)) {
  const element = root.querySelector(selector);
  if (!(element instanceof kind)) throw new TypeError(`The page has no ${kind.name} ${selector}.`);
  return element;
}

/**
 * The element with this id, likewise.
 * @template {Element} [Kind=HTMLElement]
 * @param {string} id
 * @param {new () => Kind} [kind]
 */
export const byId = (id, kind) => query(document, `#${id}`, kind);

/** The JSON that the page was rendered with. */
export function bootData() {
  return JSON.parse(byId("boot").textContent);
}

/** @param {string} text */
export const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A duration for people. @param {number | null | undefined} ms */
export function seconds(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return gettext("{time} ms", { time: Math.round(ms) });
  return ms < 60_000 ? gettext("{time} s", { time: (ms / 1000).toFixed(1) }) : gettext("{minutes} min {seconds} s", { minutes: Math.floor(ms / 60_000), seconds: Math.round((ms % 60_000) / 1000) });
}

/** @param {number} count */
export function bytes(count) {
  if (!count) return "";
  const units = ["B", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log(count) / Math.log(1000)), units.length - 1);
  const value = count / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

/** The group that a time stands in, in a list by age. @param {Api.Time} isoTime */
export function dayOf(isoTime) {
  const date = new Date(isoTime);
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const days = Math.ceil((midnight.getTime() - date.getTime()) / 86_400_000);
  if (days <= 0) return gettext("Today");
  if (days === 1) return gettext("Yesterday");
  if (days < 7) return gettext("This week");
  if (days < 31) return gettext("This month");
  return date.toLocaleDateString(DATES, { month: "long", year: "numeric" });
}

/** @param {Api.Time} isoTime */
export function dateOf(isoTime) {
  return new Date(isoTime).toLocaleDateString(DATES, { day: "numeric", month: "short", year: "numeric" });
}

/** A date without a time, YYYY-MM-DD: the same day in every time zone. @param {string} day */
export const dateOfDay = (day) => dateOf(`${day}T00:00`);

/** Calls `action` when nothing has asked for it for `wait` ms. @param {() => unknown} action @param {number} wait */
export function debounce(action, wait) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, wait);
  };
}

/** What this browser keeps. */
export const store = {
  /** @param {string} key */
  get(key) {
    try {
      return localStorage.getItem(`ragsite.${key}`);
    } catch {
      return null;
    }
  },
  /** @param {string} key @param {string | null} value */
  set(key, value) {
    try {
      if (value === null || value === "") localStorage.removeItem(`ragsite.${key}`);
      else localStorage.setItem(`ragsite.${key}`, value);
    } catch {
      // Storage is full or blocked: what is kept here is a convenience.
    }
  },
};

const SHARED = "ragsite.shared";

/** What was shared with the site, for the time of this tab. */
export const sharedText = {
  /** Whether it could be kept. @param {string} text */
  keep(text) {
    try {
      sessionStorage.setItem(SHARED, text);
      return true;
    } catch {
      return false;
    }
  },
  /** Once; empty: nothing was. */
  take() {
    try {
      const text = sessionStorage.getItem(SHARED) || "";
      sessionStorage.removeItem(SHARED);
      return text;
    } catch {
      return "";
    }
  },
};
