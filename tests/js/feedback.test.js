// Rating an answer or a source.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { freshPage, serve, settled } from "./page.js";
import { site } from "./site.js";

const { answerRating } = await site("chat/rating.js");

const ANSWER = "/api/messages/m/rating";
const up = { score: 5, thumb: "up", tags: ["helpful"], comment: "yes" };
const pressed = (buttons) => [buttons.up.ariaPressed, buttons.down.ariaPressed];
const press = async (button) => {
  button.click();
  await settled();
};
const toast = () => document.getElementById("toasts").textContent;

beforeEach(() => freshPage());

describe("an answer's thumbs", () => {
  for (const [name, rating, shown] of [
    ["none", null, ["false", "false"]],
    ["up", up, ["true", "false"]],
    ["down", { ...up, score: 1, thumb: "down" }, ["false", "true"]],
    ["between them", { ...up, score: 3, thumb: null }, ["false", "false"]],
  ]) test(`show the rating there is: ${name}`, () => assert.deepEqual(pressed(answerRating("m", rating)), shown));

  test("store a rating; a thumb up says thanks and asks nothing more", async () => {
    const calls = serve({ [`PUT ${ANSWER}`]: { ...up, tags: [], comment: "" } });
    const rating = answerRating("m", null);
    await press(rating.up);
    assert.deepEqual(calls.map(({ call, body }) => [call, body]), [[`PUT ${ANSWER}`, { thumb: "up", tags: [], comment: "" }]]);
    assert.deepEqual(pressed(rating), ["true", "false"]);
    assert.equal(rating.form.hidden, true);
    assert.equal(toast(), "Thanks, this will improve tomorrow's answers.");
  });
  test("pressed again take the rating back", async () => {
    const calls = serve({ [`DELETE ${ANSWER}`]: [204] });
    const rating = answerRating("m", up);
    await press(rating.up);
    assert.deepEqual(calls.map(({ call }) => call), [`DELETE ${ANSWER}`]);
    assert.deepEqual(pressed(rating), ["false", "false"]);
  });
  test("show the old rating, and why, where the new one could not be stored", async () => {
    serve({ [`PUT ${ANSWER}`]: [409, { error: { code: "conflict", message: "Not now." } }] });
    const rating = answerRating("m", up);
    await press(rating.down);
    assert.deepEqual(pressed(rating), ["true", "false"]);
    assert.equal(toast(), "Not now.");
  });
});

describe("the row after a thumb down", () => {
  const down = { score: 1, thumb: "down", tags: ["outdated"], comment: "yes" };
  const opened = async () => {
    const calls = serve({ [`PUT ${ANSWER}`]: down });
    const rating = answerRating("m", null);
    await press(rating.down);
    return { form: rating.form, calls };
  };
  test("offers four reasons, and shows what is stored", async () => {
    const { form } = await opened();
    const boxes = form.querySelectorAll("[name=tag]");
    assert.deepEqual(boxes.map((box) => box.value), ["wrong_source", "outdated", "incomplete", "wrong_reasoning"]);
    assert.deepEqual(boxes.filter((box) => box.checked).map((box) => box.value), ["outdated"]);
    assert.equal(form.querySelector(".input").value, "yes");
  });
});
