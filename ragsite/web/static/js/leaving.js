// Rows that leave their list at once, and are deleted as soon as that can't be undone any more.
import { ApiError, request } from "./api.js";
import { gettext } from "./i18n.js";
import { errorToast, toast } from "./ui.js";

export class Leaving {
  /**
   * @param {(id: Api.Id) => string} address of a row, to delete it
   * @param {{draw: () => unknown, gone: (id: Api.Id) => unknown}} on `draw`: the list, without what is leaving; `gone`: it is deleted
   */
  constructor(address, { draw, gone }) {
    this.address = address;
    this.draw = draw;
    this.gone = gone;
    /** @type {Set<Api.Id>} */
    this.ids = new Set();
    addEventListener("pagehide", () => this.ids.forEach((id) => this.end(id))); // who leaves has made up their mind
  }

  /** @param {Api.Id} id */
  has(id) {
    return this.ids.has(id);
  }

  /** @param {Api.Id} id @param {string} text says that it is deleted */
  begin(id, text) {
    this.ids.add(id);
    this.draw();
    toast(text, { onGone: () => this.end(id), action: { label: gettext("Undo"), run: () => this.back(id) } });
  }

  /** @param {Api.Id} id */
  back(id) {
    if (this.ids.delete(id)) this.draw();
  }

  /** @param {Api.Id} id */
  async end(id) {
    if (!this.ids.has(id)) return;
    try {
      await request("DELETE", this.address(id), { keepalive: true });
      this.gone(id);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.gone(id);
      else errorToast(error);
    } finally {
      this.ids.delete(id);
      this.draw();
    }
  }
}
