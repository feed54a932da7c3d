// The interface's texts in the reader's language. A page in another language than English loads Django's catalogue for
// scripts (/texts/) before any module runs; without it every text is as it is written here.

/** The language of the page, for dates and numbers. */
export const LOCALE = globalThis.document?.documentElement?.lang || "en";
export const DATES = LOCALE === "en" ? "en-GB" : LOCALE; // "23 Nov 2026", as the server writes it

/** @param {string} text @param {Record<string, unknown>} values for `{name}` in the text */
function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/**
 * @param {string} text in English
 * @param {Record<string, unknown>} values
 */
export function gettext(text, values = {}) {
  return filled(globalThis.django?.gettext(text) ?? text, values);
}

/**
 * `one` for a count of 1, else `many`; both may hold `{count}`.
 * @param {string} one
 * @param {string} many
 * @param {number} count
 * @param {Record<string, unknown>} values
 */
export function ngettext(one, many, count, values = {}) {
  const text = globalThis.django?.ngettext(one, many, count) ?? (count === 1 ? one : many);
  return filled(text, { count: count.toLocaleString(LOCALE), ...values });
}

/**
 * A text with `{name}` as a list to build from, where elements take the place of values.
 * @param {string} text in English
 * @param {Record<string, Ui.Child>} values
 * @returns {Ui.Child[]}
 */
export function gettextWith(text, values) {
  return gettext(text).split(/\{(\w+)\}/).map((part, index) => (index % 2 ? values[part] : part));
}
