// Toasts, dialogs and menus.
import { append, byId, h, icon, iconButton, query, replace } from "./dom.js";
import { gettext } from "./i18n.js";

const UNDO_MS = 10_000; // long enough to be read, reached and pressed
let closeToast = () => {};

/**
 * A short note; the next one takes its place. One with an action stays longer, has a button that closes it and hears
 * Ctrl+Z; it stays while the pointer or the focus is on it. `onGone` is called when it has gone without its action.
 * @param {string} text
 * @param {{action?: {label: string, run: () => unknown} | null, ms?: number, onGone?: () => unknown}} options
 */
export function toast(text, { action = null, ms = action ? UNDO_MS : 5000, onGone = () => {} } = {}) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let open = true;
  const before = document.activeElement;
  const close = (undone = false) => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    document.removeEventListener("keydown", keys);
    if (note.contains(document.activeElement) && before instanceof HTMLElement && before.isConnected) before.focus();
    note.remove();
    if (!undone) onGone();
  };
  const act = () => { close(true); action?.run(); };
  const wait = () => {
    timer = setTimeout(() => (note.matches(":hover, :focus-within") ? wait() : close()), ms);
  };
  /** @param {KeyboardEvent} event */
  const keys = (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "z") return;
    if (event.defaultPrevented || /** @type {HTMLInputElement} */ (event.target).value) return; // that text is meant
    event.preventDefault();
    act();
  };
  const note = h("div", { class: "toast" }, h("span", {}, text),
    action && h("button", { type: "button", class: "toast-action", onclick: act }, action.label),
    action && iconButton("close", gettext("Close"), () => close()));
  closeToast();
  closeToast = close;
  byId("toasts").replaceChildren(note);
  if (action) document.addEventListener("keydown", keys);
  wait();
}

/** @param {any} error what a call threw */
export function errorToast(error) {
  toast(error.message || gettext("Something went wrong."), { ms: 8000 });
}

/** @param {string} text @param {HTMLElement} button which tells that it is done */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    toast(gettext("The browser did not allow copying."));
    return;
  }
  button.querySelector(".icon")?.replaceWith(icon("check"));
  toast(gettext("Copied."), { ms: 1800 });
  setTimeout(() => button.querySelector(".icon")?.replaceWith(icon("copy")), 1800);
}

let ids = 0;

/**
 * A dialog of one's own making; its `build` puts the heading into it.
 * @template Result
 * @param {string} title
 * @param {(heading: HTMLElement, finish: (result: Result | null) => void) => Node} build
 * @returns {Promise<Result | null>} null when it was left
 */
export function openDialog(title, build) {
  const heading = h("h2", { id: `dialog-${++ids}` }, title);
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": heading.id });
  const opener = document.activeElement;
  return new Promise((resolve) => {
    /** @param {Result | null} value */
    const finish = (value) => {
      dialog.close();
      resolve(value);
    };
    dialog.append(build(heading, finish));
    dialog.addEventListener("cancel", () => resolve(null));
    dialog.addEventListener("click", (event) => event.target === dialog && finish(null));
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** @param {(result: null) => void} finish */
const cancelButton = (finish) => h("button", { type: "button", class: "button", onclick: () => finish(null) }, gettext("Cancel"));

/**
 * @param {string} title
 * @param {string} text
 * @param {{confirm?: string, danger?: boolean}} options
 * @returns {Promise<true | null>}
 */
export function confirmDialog(title, text, { confirm = gettext("Delete"), danger = true } = {}) {
  return openDialog(title, (heading, finish) =>
    h("form", { onsubmit: (event) => { event.preventDefault(); finish(true); } },
      heading,
      h("p", { class: "dialog-text" }, text),
      h("div", { class: "dialog-actions" }, cancelButton(finish),
        h("button", { type: "submit", class: `button ${danger ? "danger" : "primary"}` }, confirm)),
    ));
}

/**
 * A small form. `save(values)` may throw an ApiError, whose sentence is shown in it.
 * @param {string} title
 * @param {Ui.Field[]} fields
 * @param {{confirm?: string, save: (values: Record<string, string>) => Promise<unknown>}} options
 * @returns {Promise<true | null>} null when it was left
 */
export function formDialog(title, fields, { confirm = gettext("Save"), save }) {
  return openDialog(title, (heading, finish) => {
    const problem = h("div", { class: "form-error", role: "alert", hidden: true });
    const submit = h("button", { type: "submit", class: "button primary" }, confirm);
    const rows = fields.map(fieldRow);
    const form = h("form", {
      novalidate: true,
      onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        problem.hidden = true;
        try {
          await save(/** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form))));
          finish(true);
        } catch (error) {
          replace(problem, /** @type {Error} */ (error).message);
          problem.hidden = false;
        } finally {
          submit.disabled = false;
        }
      },
    }, heading, rows, problem, h("div", { class: "dialog-actions" }, cancelButton(finish), submit));
    requestAnimationFrame(() => {
      const first = query(form, "input, select, textarea");
      first.focus();
      if ("select" in first) /** @type {HTMLInputElement} */ (first).select();
    });
    return form;
  });
}

/** @param {Ui.Field} field */
function fieldRow({ name, label, type = "text", value = "", options = null, help = "", optional = false, ...more }) {
  const id = `field-${++ids}`;
  const help_id = help ? `${id}-help` : null;
  const shared = { id, name, "aria-describedby": help_id, ...more };
  const input = options
    ? h("select", shared, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)))
    : h(type === "textarea" ? "textarea" : "input", { ...shared, type: type === "textarea" ? null : type, value, autocomplete: "off" });
  return h("div", { class: "field" },
    h("label", { for: id }, label, optional ? h("span", { class: "optional" }, gettext(" (optional)")) : null),
    input,
    help ? h("p", { class: "field-help", id: help_id }, help) : null);
}

/** @typedef {Ui.MenuItem | null} Item null is left out */

/** @typedef {() => Item[] | Promise<Item[]>} Items */

/**
 * A menu under its button. `keepOpen`: choosing what can be checked leaves it open. An item with `heading` alone stands
 * above those that follow; one with `opens` shows other items in their place.
 * @param {HTMLElement} button
 * @param {Item[] | Items} items
 * @param {{align?: "start" | "end", title?: string, keepOpen?: boolean}} options
 */
export function menuButton(button, items, { align = "end", title = "", keepOpen = false } = {}) {
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  /** @type {HTMLElement | null} */
  let menu = null;
  const first = typeof items === "function" ? items : () => items;
  /** @type {Items} */
  let shown = first;

  const close = (refocus = false) => {
    if (!menu) return;
    menu.remove();
    menu = null;
    shown = first;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("resize", dismiss);
    if (refocus) button.focus();
  };
  const dismiss = () => close();
  /** @param {PointerEvent} event */
  const outside = (event) => {
    const target = /** @type {Node} */ (event.target);
    if (!menu?.contains(target) && !button.contains(target)) close();
  };
  /** @param {HTMLElement} menu @param {Item[]} all */
  const draw = (menu, all) => {
    const rows = all.filter((item) => item !== null);
    const chosen = (/** @type {Ui.MenuItem} */ item, /** @type {PointerEvent} */ event) => {
      const index = rows.filter(({ heading }) => heading === undefined).indexOf(item);
      if (item.opens) {
        shown = item.opens;
        fill(menu, 0);
      } else if (keepOpen && item.checked !== undefined) {
        item.run?.(event);
        fill(menu, index);
      } else {
        close(!item.href);
        item.run?.(event);
      }
    };
    replace(menu, title ? h("div", { class: "menu-title", role: "presentation" }, title) : null,
      h("div", { class: "menu-scroll", role: "presentation" }, rows.map((item) => (item.heading !== undefined
        ? h("div", { class: "menu-heading", role: "presentation" }, item.heading) : menuItem(item, (event) => chosen(item, event))))));
  };
  /** @param {HTMLElement} menu @param {number} at the row that is focused */
  const fill = (menu, at) => {
    const items = shown();
    const ready = (/** @type {Item[]} */ all) => {
      if (!menu.isConnected) return;
      draw(menu, all);
      place(menu, button, align);
      menuRows(menu)[at]?.focus({ preventScroll: at === 0 });
    };
    if (Array.isArray(items)) {
      ready(items);
      return;
    }
    if (!menu.childElementCount) replace(menu, h("div", { class: "menu-heading", role: "presentation" }, gettext("Loading")));
    items.then(ready, (error) => {
      close(true);
      errorToast(error);
    });
  };
  const open = () => {
    /** @type {HTMLElement} */
    const opened = h("div", { class: "menu", role: "menu", onkeydown: (event) => menuKeys(event, opened, close) });
    menu = opened;
    document.body.append(opened);
    fill(opened, 0);
    place(opened, button, align);
    button.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside, true);
    window.addEventListener("resize", dismiss);
  };
  button.addEventListener("click", (event) => {
    event.preventDefault();
    if (menu) close(true);
    else open();
  });
}

/** @param {HTMLElement} menu @returns {HTMLElement[]} */
const menuRows = (menu) => [...menu.querySelectorAll(/** @type {"a"} */ (".menu-item"))];

/** @param {Ui.MenuItem} item @param {Ui.Attributes["onclick"]} onclick */
function menuItem(item, onclick) {
  const checkable = item.checked !== undefined;
  const inner = [
    item.icon ? icon(item.icon) : null,
    h("span", { class: "grow" }, item.label, item.problem || item.hint ? h("small", {}, item.problem || item.hint) : null),
    item.note ? h("span", { class: "menu-note" }, item.note) : null,
    checkable ? h("span", { class: "tick" }, icon("check")) : null,
    item.opens && !item.back ? icon("right") : null,
  ];
  const role = checkable ? (item.radio ? "menuitemradio" : "menuitemcheckbox") : "menuitem";
  const shared = { "aria-haspopup": item.opens && !item.back ? "menu" : null, class: `menu-item${item.danger ? " danger" : ""}`, role, tabindex: "-1", "aria-checked": checkable ? String(item.checked) : null, onclick };
  if (item.problem) return h("button", { ...shared, type: "button", "aria-disabled": "true", onclick: null }, inner);
  return item.href
    ? h("a", { ...shared, href: item.href, download: item.download ? "" : null }, inner)
    : h("button", { ...shared, type: "button" }, inner);
}

/** @param {KeyboardEvent} event @param {HTMLElement} menu @param {(refocus: boolean) => void} close */
function menuKeys(event, menu, close) {
  const rows = menuRows(menu);
  const at = rows.findIndex((row) => row === document.activeElement);
  /** @type {Record<string, number>} */
  const moves = { ArrowDown: (at + 1) % rows.length, ArrowUp: (at - 1 + rows.length) % rows.length, Home: 0, End: rows.length - 1 };
  if (event.key in moves) {
    event.preventDefault();
    rows[moves[event.key]].focus();
  } else if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    close(true);
  } else if (event.key === "Tab") {
    close(true);
  }
}

/** @param {HTMLElement} menu @param {HTMLElement} button @param {"start" | "end"} align */
function place(menu, button, align) {
  const box = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const left = align === "end" ? box.right - width : box.left;
  const below = box.bottom + 6;
  const top = below + height > innerHeight - 8 && box.top - height - 6 > 8 ? box.top - height - 6 : below;
  menu.style.position = "fixed";
  menu.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, top)}px`;
}

/** A live region that screen readers speak without anything on the screen moving. */
export function announcer() {
  const region = h("div", { class: "visually-hidden", "aria-live": "polite", "aria-atomic": "false" });
  document.body.append(region);
  return (/** @type {string} */ text) => {
    append(region, [h("p", {}, text)]);
    while (region.childElementCount > 20) region.firstElementChild?.remove();
  };
}
