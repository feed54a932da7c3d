// The interface's texts in the reader's language. A page in another language than English loads its texts
// (js/locale/…, made by `make messages`) before any module runs; without them every text is as it is written here.

/** The language of the page, for dates and numbers. */
export const LOCALE = globalThis.document?.documentElement?.lang || "en";
export const DATES = LOCALE === "en" ? "en-GB" : LOCALE; // "23 Nov 2026", as the server writes it

/** @type {() => Record<string, string | string[]>} by the English text; a list has a form for each number */
const texts = () => globalThis.ragsiteTexts ?? Object.create(null);

/** @param {string} text @param {Record<string, unknown>} values for `{name}` in the text */
function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/**
 * @param {string} text in English
 * @param {Record<string, unknown>} values
 */
export function gettext(text, values = {}) {
  const known = texts()[text];
  return filled(typeof known === "string" ? known : text, values);
}

/**
 * `one` for a count of 1, else `many`; both may hold `{count}`.
 * @param {string} one
 * @param {string} many
 * @param {number} count
 * @param {Record<string, unknown>} values
 */
export function ngettext(one, many, count, values = {}) {
  const known = texts()[one];
  const forms = Array.isArray(known) ? known : [one, many];
  return filled(forms[count === 1 ? 0 : forms.length - 1], { count: count.toLocaleString(LOCALE), ...values });
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
