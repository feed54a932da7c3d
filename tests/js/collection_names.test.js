import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { site } from "./site.js";

const { collectionLabel, findCollection, shortAddress } = await site("collection_names.js");

const mine = { id: "1", name: "policies", address: "ann/policies", owner: "ann" };
const theirs = { id: "2", name: "policies", address: "bob/policies", owner: "bob" };
const site_ = { id: "3", name: "policies", address: "site:policies", owner: null };
const alone = { id: "4", name: "handbook", address: "site:handbook", owner: null };
const rows = [theirs, site_, mine, alone];

describe("a collection's label", () => {
  const cases = [[mine, "policies"], [theirs, "policies · bob"], [site_, "policies · this site"], [alone, "handbook"]];
  for (const [row, label] of cases) test(`${row.address}: ${label}`, () => assert.equal(collectionLabel(row, rows, "ann"), label));
});

describe("the address that is written", () => {
  for (const [row, address] of [[mine, "policies"], [theirs, "bob/policies"], [alone, "site:handbook"]]) {
    test(address, () => assert.equal(shortAddress(row, "ann"), address));
  }
});

describe("which collection is meant", () => {
  const cases = [
    ["by id", rows, "2", theirs],
    ["by address", rows, "bob/policies", theirs],
    ["a plain name: one's own first", rows, "policies", mine],
    ["a plain name: then the site's", [theirs, site_], "policies", site_],
    ["a plain name: then anybody's", [theirs], "policies", theirs],
    ["a name that nobody has", rows, "nothing", undefined],
    ["nothing", rows, "", undefined],
    ["null", rows, null, undefined],
  ];
  for (const [name, among, value, row] of cases) test(name, () => assert.equal(findCollection(among, value, "ann"), row));
});
