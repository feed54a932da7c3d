// What is left of the tokens that one may use: which of several allowances is shown.
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { element, freshPage, serve } from "./page.js";
import { site } from "./site.js";

const { showAllowance, tightest } = await site("chat/allowance.js");

/** @param {Partial<Api.Allowance>} values @returns {Api.Allowance} */
function allowance(values) {
  const { used = 0, limit = null } = values;
  return { period: "day", whose: "person", left: limit === null ? null : Math.max(0, limit - used), starts_again_at: "2026-03-02T00:00:00Z", used, limit, ...values };
}

describe("the allowance that is shown", () => {
  it("is none while enough is left, or there is no limit", () => {
    assert.equal(tightest([allowance({ used: 79, limit: 100 }), allowance({ used: 10 ** 9 })]), null);
  });

  it("is the one with the least left", () => {
    const site = allowance({ used: 95, limit: 100, whose: "site" });
    assert.equal(tightest([allowance({ used: 80, limit: 100 }), site]), site);
  });

  it("is of those that are used up the one that lasts longest", () => {
    const month = allowance({ used: 100, limit: 100, period: "month", starts_again_at: "2026-04-01T00:00:00Z" });
    assert.equal(tightest([allowance({ used: 500, limit: 100 }), month]), month);
  });

  it("of nothing at all is used up", () => {
    const none = allowance({ limit: 0 });
    assert.equal(tightest([none]), none);
  });
});

describe("the line below the composer", () => {
  beforeEach(() => freshPage());

  /** @param {Api.Allowance[]} allowances */
  async function shown(allowances) {
    serve({ "GET /api/usage": { allowances } });
    const line = element("p", { hidden: "" });
    await showAllowance(line, () => "How many books?");
    return line;
  }

  it("is hidden while enough is left", async () => {
    assert.equal((await shown([allowance({ used: 1, limit: 100 })])).hidden, true);
  });

  it("says what is left, rounded down", async () => {
    const line = await shown([allowance({ used: 915, limit: 1000, period: "month" })]);
    assert.equal(line.hidden, false);
    assert.match(line.textContent, /^8% of your tokens for this month are left\. They start again on /);
  });

  it("offers a search once nothing is left", async () => {
    const line = await shown([allowance({ used: 5, limit: 5, whose: "site" })]);
    assert.match(line.textContent, /^The site's tokens for today are used up\. You can ask again from .* Search without a model$/);
  });
});
