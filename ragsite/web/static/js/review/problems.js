// What an error of the API says of fields, whatever their nesting.

/** @param {unknown} found @returns {string[]} */
export function sentences(found) {
  if (typeof found === "string") return [found];
  return found && typeof found === "object" ? Object.values(found).flatMap(sentences) : [];
}
