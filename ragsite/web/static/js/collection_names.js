// How pages call collections: by name, with the owner beside one that is not the reader's own.

/** Whose it is, in a word: "" for one's own, and for the site's where no other collection has its name. */
export function ownerLabel(row, rows, username) {
  if (row.owner === username) return "";
  if (row.owner) return row.owner;
  return rows.some((other) => other !== row && other.name === row.name) ? "this site" : "";
}

export function collectionLabel(row, rows, username) {
  return [row.name, ownerLabel(row, rows, username)].filter(Boolean).join(" · ");
}

/** What a form field or an address holds: one's own name, which means it first, or the exact address of another. */
export const shortAddress = (row, username) => (row.owner === username ? row.name : row.address);

/** The row that an id, an address, or a plain name of an older page means. */
export function findCollection(rows, value, username) {
  if (!value) return undefined;
  const named = rows.filter(({ name }) => name === value);
  return rows.find(({ id, address }) => id === value || address === value)
    || named.find(({ owner }) => owner === username) || named.find(({ owner }) => !owner) || named[0];
}
