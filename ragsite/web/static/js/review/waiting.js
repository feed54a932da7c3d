// A page with something under way looks again until that has ended, and shows what came of it in place.
const EVERY_MS = 2000;
const MOST_LOOKS = 300; // ten minutes; then the page is as it is, and a reload looks again

let looks = 0;
const timer = setInterval(async () => {
  looks += 1;
  if (looks >= MOST_LOOKS) clearInterval(timer);
  try {
    const response = await fetch(location.href);
    if (response.ok) show(new DOMParser().parseFromString(await response.text(), "text/html"));
  } catch {
    // The connection is away for now.
  }
}, EVERY_MS);

/** @param {Document} now */
function show(now) {
  if (now.querySelector("[data-waiting]")) return;
  clearInterval(timer);
  for (const part of document.querySelectorAll(/** @type {"div"} */ ("div[data-renewed]"))) {
    const renewed = now.querySelector(`[data-renewed="${part.dataset.renewed}"]`);
    if (renewed) part.replaceChildren(...renewed.childNodes);
  }
}
