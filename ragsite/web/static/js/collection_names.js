// How pages call collections: by name, with the owner beside one that is not the reader's own.
import { gettext } from "./i18n.js";

/**
 * Whose it is, in a word: "" for one's own, and for the site's where no other collection has its name.
 * @param {Api.CollectionName} row
 * @param {Api.CollectionName[]} rows all that the reader sees
 * @param {string} username
 */
export function ownerLabel(row, rows, username) {
  if (row.owner === username) return "";
  if (row.owner) return row.owner;
  return rows.some((other) => other !== row && other.name === row.name) ? gettext("this site") : "";
}

/** @param {Api.CollectionName} row @param {Api.CollectionName[]} rows @param {string} username */
export function collectionLabel(row, rows, username) {
  return [row.name, ownerLabel(row, rows, username)].filter(Boolean).join(" · ");
}

/**
 * What a form field or an address holds: one's own name, which means it first, or the exact address of another.
 * @param {Api.CollectionName} row
 * @param {string} username
 */
export const shortAddress = (row, username) => (row.owner === username ? row.name : row.address);

/**
 * The row that an id, an address, or a plain name of an older page means.
 * @template {Api.CollectionName} Row
 * @param {Row[]} rows
 * @param {string | null | undefined} value
 * @param {string} username
 * @returns {Row | undefined}
 */
export function findCollection(rows, value, username) {
  if (!value) return undefined;
  const named = rows.filter(({ name }) => name === value);
  return rows.find(({ id, address }) => id === value || address === value)
    || named.find(({ owner }) => owner === username) || named.find(({ owner }) => !owner) || named[0];
}
