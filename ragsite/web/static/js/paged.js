// A list that the API gives page by page, as far as it is loaded.
import { api, samePath } from "./api.js";

/** @template {{id: string}} Row */
export class PagedRows {
  constructor() {
    /** @type {Row[]} */
    this.rows = [];
    /** @type {string | null} where the next page is */
    this.next = null;
    this.total = 0;
    this.reads = 0;
  }

  /**
   * The first page of `url`, in place of what there was.
   * @param {string} url
   * @returns {Promise<boolean>} false: something else has been asked for since, and this answer is dropped
   * @throws {ApiError}
   */
  load(url) {
    return this.read(url, false);
  }

  /** The next page, behind what there is. As `load`. */
  async more() {
    return this.next !== null && this.read(samePath(this.next), true);
  }

  /** @param {string} url @param {boolean} behind what there is */
  async read(url, behind) {
    const mine = behind ? this.reads : (this.reads += 1);
    /** @type {Api.Page<Row>} */
    let page;
    try {
      page = await api.get(url);
    } catch (error) {
      if (mine !== this.reads) return false;
      throw error;
    }
    if (mine !== this.reads) return false;
    const before = behind ? this.rows : [];
    const known = new Set(before.map(({ id }) => id));
    this.rows = [...before, ...page.results.filter(({ id }) => !known.has(id))];
    this.next = page.next;
    this.total = page.count;
    return true;
  }

  /** @param {string | null} id */
  find(id) {
    return this.rows.find((row) => row.id === id);
  }

  /** Takes a row out that is no longer there. @param {string} id */
  remove(id) {
    if (!this.find(id)) return;
    this.rows = this.rows.filter((row) => row.id !== id);
    this.total -= 1;
  }
}
