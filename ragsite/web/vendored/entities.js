// The browser knows the names of HTML's entities; what comes here is one of them (&name;).
export function decodeHTML(entity) {
  const area = document.createElement("textarea");
  area.innerHTML = entity;
  return area.value;
}
export const decodeHTMLStrict = decodeHTML;
