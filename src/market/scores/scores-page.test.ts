// The page lists every parameter and every card, as they are.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PROFILES } from "../../verify/hardware/identify/profiles.ts";
import { PARAM_ROWS } from "../params.ts";
import { SCORES_PAGE, scoresPage } from "./scores-page.test-kit.ts";

test("docs/scores.md is what parameters and profiles give: every parameter, every card", () => {
	const page = readFileSync(SCORES_PAGE, "utf8");
	assert.equal(page, scoresPage(), "run: node src/market/scores/scores-page.test-kit.ts");
	for (const name of Object.keys(PARAM_ROWS)) assert.ok(page.includes(`| \`${name}\` |`), name);
	for (const { id } of PROFILES) assert.ok(page.includes(`\n| ${id} | `), id);
});
