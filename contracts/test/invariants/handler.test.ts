// The campaign plays with the whole network: no function that changes something is left out of its handler.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { jobEscrowAbi } from "../../../src/chain/abi/job-escrow-abi.ts";
import { registryAbi } from "../../../src/chain/abi/registry-abi.ts";
import { rewardsAbi } from "../../../src/chain/abi/rewards-abi.ts";
import { rollCallAbi } from "../../../src/chain/abi/roll-call-abi.ts";
import { scoreboardAbi } from "../../../src/chain/abi/scoreboard-abi.ts";
import { slashingAbi } from "../../../src/chain/abi/slashing-abi.ts";

const FOLDERS = ["./", "../epochs/", "../jobs/"].map((folder) => new URL(folder, import.meta.url));
const isKit = (name: string) => name.endsWith(".sol") && !name.endsWith(".t.sol");
const source = FOLDERS.flatMap((folder) =>
	readdirSync(folder)
		.filter(isKit)
		.map((name) => readFileSync(new URL(name, folder), "utf8")),
).join("\n");

test("every function of Registry, Scoreboard, Rewards, Slashing, RollCall and JobEscrow that changes something is an act", () => {
	const contracts = {
		registry: registryAbi,
		scoreboard: scoreboardAbi,
		rewards: rewardsAbi,
		slashing: slashingAbi,
		rollCall: rollCallAbi,
		escrow: jobEscrowAbi,
	};
	const missing: string[] = [];
	let count = 0;
	for (const [name, abi] of Object.entries(contracts))
		for (const entry of abi) {
			if (entry.type !== "function" || entry.stateMutability === "view" || entry.stateMutability === "pure") continue;
			// Who owns the pause of JobEscrow has no say in anything that the rules look at.
			if (name === "escrow" && /Ownership$/.test(entry.name)) continue;
			count++;
			if (!new RegExp(`\\b${name}\\.${entry.name}\\b`).test(source)) missing.push(`${name}.${entry.name}`);
		}
	assert.ok(count >= 40, `${count}`);
	assert.deepEqual(missing, []);
});
