// Rating an answer or one of its sources by a thumb; after a thumb down, why, and a comment.
import { api } from "../api.js";
import { h, iconButton, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { labelOf } from "../labels.js";
import { errorToast, toast } from "../ui.js";

const REASONS = ["wrong_source", "outdated", "incomplete", "wrong_reasoning"];

class Rating {
  /**
   * @param {string} url
   * @param {[good: string, bad: string]} labels of the thumbs
   * @param {Api.Rating | null | undefined} rating the one there is
   * @param {(rating: Api.Rating | null) => unknown} onchange by its reader
   */
  constructor(url, [good, bad], rating, onchange) {
    this.url = url;
    this.rating = rating || null;
    this.onchange = onchange;
    this.up = this.button("up", good);
    this.down = this.button("down", bad);
    this.show();
  }

  /** A pressed one that is pressed again takes the rating back. @param {Api.Thumb} thumb @param {string} label */
  button(thumb, label) {
    return iconButton(thumb, label, () => this.save(this.rating?.thumb === thumb ? null : { thumb, tags: [], comment: this.rating?.comment || "" }), { class: "small" });
  }

  show() {
    this.up.ariaPressed = String(this.rating?.thumb === "up");
    this.down.ariaPressed = String(this.rating?.thumb === "down");
  }

  /** Stores `input`, or takes the rating back when it is null. @param {Api.RatingInput | null} input */
  async save(input) {
    try {
      this.rating = input === null ? await api.delete(this.url) : await api.put(this.url, input);
    } catch (error) {
      errorToast(error);
      return;
    } finally {
      this.show();
    }
    this.onchange(this.rating);
    toast(input === null ? gettext("Rating removed.") : gettext("Thanks, this will improve tomorrow's answers."));
  }
}

/** @param {Api.Id} messageId @param {Api.Source} source */
export function sourceRating(messageId, source) {
  const labels = /** @type {[string, string]} */ ([gettext("Good source"), gettext("Bad source")]);
  const rating = new Rating(`/api/messages/${messageId}/sources/${source.marker}/rating`, labels, source.rating, (now) => {
    source.rating = now;
  });
  return h("div", { class: "source-rating" }, h("span", {}, effectOf(source) ?? gettext("Did this source help?")), rating.up, rating.down);
}

/** What the reader's rating has done since; nothing yet: null. @param {Api.Source} source */
export function effectOf({ moved }) {
  return moved ? (moved === "up" ? gettext("Your rating moved this source up.") : gettext("Your rating moved this source down.")) : null;
}

/** The thumbs, and the row that a thumb down opens. @param {Api.Id} messageId @param {Api.Rating | null} given */
export function answerRating(messageId, given) {
  const row = h("div", { class: "rating-form", hidden: true });
  const labels = /** @type {[string, string]} */ ([gettext("Good answer"), gettext("Bad answer")]);
  const rating = new Rating(`/api/messages/${messageId}/rating`, labels, given, (now) => {
    if (now?.thumb === "down" && row.hidden) ask(row, rating, now);
    else row.hidden = true;
  });
  return { up: rating.up, down: rating.down, form: row };
}

/** @param {HTMLElement} row @param {Rating} rating @param {Api.Rating} now */
function ask(row, rating, { tags, comment: written }) {
  const comment = h("input", { class: "input", maxlength: 2000, placeholder: gettext("Anything else?"), "aria-label": gettext("Comment"), autocomplete: "off", value: written });
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const save = async (event) => {
    event.preventDefault();
    await rating.save({ thumb: "down", tags: new FormData(event.target).getAll("tag").map(String), comment: comment.value.trim() });
    if (row.hidden) rating.down.focus();
  };
  replace(row, h("form", { onsubmit: save, "aria-label": gettext("What was wrong?") },
    REASONS.map((tag) => h("label", {}, h("input", { type: "checkbox", name: "tag", value: tag, checked: tags.includes(tag) }), h("span", {}, labelOf("tags", tag)))),
    comment, h("button", { type: "submit", class: "button small" }, gettext("Send"))));
  row.hidden = false;
  row.scrollIntoView({ block: "nearest" });
}
