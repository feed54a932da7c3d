// What is left of the tokens that one may use: which of several allowances is shown.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { site } from "./site.js";

const { tightest } = await site("chat/allowance.js");

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
