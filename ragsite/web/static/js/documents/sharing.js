// Names to share with, offered from the third letter on to those who may look people up.
import { byId, debounce } from "../dom.js";

const field = byId("share-name", HTMLInputElement);
const names = byId("share-names");
const own = names.innerHTML;
field.addEventListener("input", debounce(async () => {
  const begun = field.value.trim();
  const answer = begun.length < 3 ? null : await fetch(`${field.dataset.names}?${new URLSearchParams({ begun })}`).catch(() => null);
  names.innerHTML = answer?.ok && !answer.redirected ? await answer.text() : own;
}, 200));
