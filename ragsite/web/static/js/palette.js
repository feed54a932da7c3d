// The palette: every page that the reader may open, what can be done here, and their conversations, by typing.
import { api } from "./api.js";
import { debounce, h, icon, replace } from "./dom.js";
import { gettext, LOCALE, ngettext } from "./i18n.js";
import { setTheme, themeNow, THEMES } from "./theming.js";

const CONVERSATIONS_SHOWN = 8;
const SEARCHED_CHARS = 200; // as many as the site takes
const WAIT_MS = 200;

/** @typedef {{label: string, icon: string, group: string, hint?: string, run: () => unknown}} Entry */
/** @typedef {{pages: {label: string, url: string, icon: string, group: string}[], temporary: boolean}} Offered */

/** @type {Promise<Offered> | null} what the site offers this reader; asked for once a page */
let offered = null;

/** @param {string} url */
const goTo = (url) => location.assign(url);

/** @param {string} selector of a control that the page has for it @param {string} url where it is else */
const press = (selector, url) => () => {
  /** @type {HTMLElement | null} */
  const control = document.querySelector(selector);
  if (control) control.click();
  else goTo(url);
};

/** @param {boolean} temporary @returns {Entry[]} */
function actions(temporary) {
  const group = gettext("Actions");
  /** @type {Record<string, string>} */
  const themes = { system: gettext("Theme: same as the system"), light: gettext("Theme: light"), dark: gettext("Theme: dark") };
  const languages = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll(".in-menu button[name=language]")]);
  return [
    { label: gettext("New conversation"), icon: "plus", group, run: press("[data-new-chat]", "/") },
    ...(temporary ? [{ label: gettext("Temporary chat"), icon: "clock", group, run: press('[data-temporary][aria-pressed="false"]', "/?temporary=1") }] : []),
    ...THEMES.filter((theme) => theme !== themeNow()).map((theme) => ({ label: themes[theme], icon: theme === "dark" ? "moon" : theme === "light" ? "sun" : "theme", group, run: () => setTheme(theme) })),
    ...languages.filter(({ value }) => value !== LOCALE).map((button) => ({ label: button.textContent || "", icon: "globe", group, run: () => button.click() })),
    { label: gettext("Keyboard shortcuts"), icon: "keyboard", group, run: press("[data-open-shortcuts]", "/") },
    { label: gettext("Sign out"), icon: "logout", group, run: press("[data-sign-out]", "/accounts/logout/") },
  ];
}

/** @param {string} words @param {Entry} entry */
const fits = (words, { label, group }) => words.toLocaleLowerCase(LOCALE).split(/\s+/).every((word) => `${label} ${group}`.toLocaleLowerCase(LOCALE).includes(word));

class Palette {
  constructor() {
    this.list = h("ul", { id: "palette-list", role: "listbox", "aria-label": gettext("Results") });
    this.input = h("input", {
      class: "input", role: "combobox", maxlength: SEARCHED_CHARS, autocomplete: "off", placeholder: gettext("Search pages, actions and conversations"),
      "aria-label": gettext("Go to"), "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", onkeydown: (event) => this.keys(event),
    });
    this.note = h("p", { class: "palette-note", role: "status" });
    this.dialog = h("dialog", { class: "dialog palette", "aria-label": gettext("Go to") }, this.input, this.list, this.note);
    /** @type {Entry[]} */
    this.actions = [];
    /** @type {Entry[]} */
    this.pages = [];
    /** @type {Entry[]} */
    this.conversations = [];
    /** @type {Entry[]} what is shown */
    this.entries = [];
    this.at = 0;
    this.problem = "";
    this.isSearching = true;
    /** Grows with each search: what an earlier one finds comes too late. */
    this.turn = 0;
    this.opener = document.activeElement;
    this.search = debounce(() => this.find(), WAIT_MS);
    this.input.addEventListener("input", () => {
      this.turn += 1;
      this.at = 0;
      this.isSearching = true;
      this.draw();
      this.search();
    });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.close());
    this.dialog.addEventListener("close", () => this.gone());
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.input.focus();
    this.draw();
    void this.load();
    void this.find();
  }

  close() {
    this.dialog.close();
  }

  gone() {
    this.turn += 1;
    this.dialog.remove();
    if (this.opener instanceof HTMLElement && this.opener.isConnected) this.opener.focus();
  }

  async load() {
    let temporary = false;
    /** @type {Entry[]} */
    let pages = [];
    try {
      offered ??= api.get("/palette.json");
      const { pages: listed, temporary: isAllowed } = await offered;
      temporary = isAllowed;
      pages = listed.map(({ label, url, icon: picture, group }) => ({ label, icon: picture, group: group || gettext("Pages"), run: () => goTo(url) }));
    } catch (error) {
      offered = null;
      this.problem = /** @type {Error} */ (error).message;
    }
    this.actions = actions(temporary);
    this.pages = pages;
    this.draw();
  }

  /** Conversations with these words; without any the last ones. */
  async find() {
    const turn = ++this.turn;
    const words = this.input.value.trim();
    this.problem = "";
    /** @type {Api.Session[]} */
    let rows = [];
    try {
      const query = new URLSearchParams(words ? { search: words } : {});
      ({ results: rows } = await api.get(`/api/sessions?${query}`));
    } catch (error) {
      this.problem = gettext("Conversations could not be searched: {reason}", { reason: /** @type {Error} */ (error).message });
    }
    if (turn !== this.turn) return;
    this.isSearching = false;
    this.conversations = rows.slice(0, CONVERSATIONS_SHOWN).map(({ id, title, found }) => ({
      label: title || gettext("New conversation"), icon: "chat", group: gettext("Conversations"), hint: found, run: () => goTo(`/chat/${id}/`),
    }));
    this.draw();
  }

  draw() {
    const words = this.input.value.trim();
    this.entries = words ? [...[...this.actions, ...this.pages].filter((entry) => fits(words, entry)), ...this.conversations] : [...this.actions, ...this.conversations, ...this.pages];
    this.at = Math.min(this.at, Math.max(0, this.entries.length - 1));
    /** @type {HTMLElement[]} */
    const rows = [];
    let group = "";
    this.entries.forEach((entry, index) => {
      if (entry.group !== group) rows.push(h("li", { class: "menu-heading", role: "presentation" }, entry.group));
      group = entry.group;
      rows.push(h("li", {
        id: `palette-${index}`, class: "menu-item", role: "option", "aria-selected": String(index === this.at), onclick: () => this.run(index),
      }, icon(entry.icon), h("span", { class: "grow", dir: "auto" }, entry.label, entry.hint ? h("small", {}, entry.hint) : null)));
    });
    replace(this.list, rows);
    replace(this.note, this.problem || (this.isSearching ? gettext("Searching…") : this.found(words)));
    this.mark();
  }

  /** What the line below says; nothing where nothing was asked for. @param {string} words */
  found(words) {
    if (!words) return "";
    return this.entries.length ? ngettext("{count} result", "{count} results", this.entries.length) : gettext("Nothing found.");
  }

  /** The entry that Enter takes. */
  mark() {
    for (const row of this.list.querySelectorAll("[role=option]")) row.setAttribute("aria-selected", String(row.id === `palette-${this.at}`));
    if (!this.entries.length) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    this.input.setAttribute("aria-activedescendant", `palette-${this.at}`);
    this.list.querySelector(`#palette-${this.at}`)?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    if (event.isComposing || event.keyCode === 229) return; // as in question_box.js
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 });
    if (event.key in moves && this.entries.length) {
      this.at = (this.at + moves[event.key] + this.entries.length) % this.entries.length;
      this.mark();
    } else if (event.key === "Enter") {
      this.run(this.at);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {number} index */
  run(index) {
    const entry = this.entries[index];
    if (!entry) return;
    this.opener = null; // what is done may lead elsewhere
    this.close();
    entry.run();
  }
}

/** @type {Palette | null} */
let shown = null;

/** Opens it, or closes it where it is open. */
export function togglePalette() {
  if (shown?.dialog.open) {
    shown.close();
    return null;
  }
  if (document.querySelector("dialog[open]")) return null; // one thing at a time
  shown = new Palette();
  shown.open();
  return shown;
}
