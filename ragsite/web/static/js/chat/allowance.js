// Below the box for the question: what is left of the tokens that one may use, once little is.
import { api } from "../api.js";
import { h, replace } from "../dom.js";
import { DATES, gettext, LOCALE } from "../i18n.js";

const NEARLY = 0.8; // used
/** @type {Record<string, (values: {share: string}) => string>} by whose tokens, and of what period */
const LEFT = {
  "person day": (values) => gettext("{share} of your tokens for today are left.", values),
  "person month": (values) => gettext("{share} of your tokens for this month are left.", values),
  "site day": (values) => gettext("{share} of the site's tokens for today are left.", values),
  "site month": (values) => gettext("{share} of the site's tokens for this month are left.", values),
};
/** @type {Record<string, () => string>} */
const USED_UP = {
  "person day": () => gettext("Your tokens for today are used up."),
  "person month": () => gettext("Your tokens for this month are used up."),
  "site day": () => gettext("The site's tokens for today are used up."),
  "site month": () => gettext("The site's tokens for this month are used up."),
};

/** @param {Api.Allowance} allowance @returns {number} 0 to 1 */
function shareUsed({ used, limit }) {
  if (limit === null) return 0;
  return limit ? Math.min(1, used / limit) : 1;
}

/**
 * The one that matters: of those that are used up the one that lasts longest, else the one with least left; null where there is enough.
 * @param {Api.Allowance[]} allowances
 */
export function tightest(allowances) {
  const over = allowances.filter((one) => shareUsed(one) >= 1);
  if (over.length) return over.reduce((last, one) => (one.starts_again_at > last.starts_again_at ? one : last));
  const near = allowances.filter((one) => shareUsed(one) >= NEARLY);
  return near.length ? near.reduce((least, one) => (shareUsed(one) > shareUsed(least) ? one : least)) : null;
}

/** @param {HTMLElement} line @param {() => string} question what stands in the box */
export async function showAllowance(line, question) {
  /** @type {Api.UsageOfCaller} */
  const { allowances } = await api.get("/api/usage");
  const shown = tightest(allowances);
  line.hidden = !shown;
  if (!shown) {
    replace(line);
    return;
  }
  const kind = `${shown.whose} ${shown.period}`;
  const isOver = shareUsed(shown) >= 1;
  const time = new Intl.DateTimeFormat(DATES, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "short" })
    .format(new Date(shown.starts_again_at)); // the reader's own zone
  const share = new Intl.NumberFormat(LOCALE, { style: "percent" }).format(Math.floor(100 * (1 - shareUsed(shown))) / 100);
  const again = isOver ? gettext("You can ask again from {time}.", { time }) : gettext("They start again on {time}.", { time });
  line.classList.toggle("is-over", isOver);
  replace(line, `${isOver ? USED_UP[kind]() : LEFT[kind]({ share })} ${again} `, isOver ? searchLink(question) : null);
}

/** @param {() => string} question */
function searchLink(question) {
  const follow = (/** @type {Event & {currentTarget: HTMLElement}} */ event) => {
    /** @type {HTMLAnchorElement} */ (event.currentTarget).search = question() ? String(new URLSearchParams({ query: question() })) : "";
  };
  return h("a", { href: "/documents/search/", onclick: follow, onfocus: follow, onpointerdown: follow }, gettext("Search without a model"));
}
