// The table of parameters, and what of an operator is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../protocol/assay-error.ts";
import { createParams, DEFAULT_PARAMS, PARAM_ROWS, type ParamOverrides } from "./params.ts";

function refusal(overrides: ParamOverrides): string {
	try {
		createParams(overrides);
	} catch (error) {
		assert.ok(error instanceof AssayError);
		assert.equal(error.code, "PARAMS_BAD");
		return error.message;
	}
	return "";
}

test("the defaults keep to their own limits, and every row says where it comes from", () => {
	assert.deepEqual(createParams(), DEFAULT_PARAMS);
	// Every default, given as an override, passes the same checks as an operator's value.
	assert.deepEqual(createParams({ ...DEFAULT_PARAMS }), DEFAULT_PARAMS);
	for (const [name, row] of Object.entries(PARAM_ROWS)) assert.ok(row.source.length > 3, name);
});

test("the numbers of the page are the defaults", () => {
	const p = DEFAULT_PARAMS;
	assert.equal(p.intervalMs, 72 * 60_000);
	assert.equal(p.jitterMs, 900_000);
	assert.equal(p.retries, 5);
	assert.equal(p.changedLimitMs, 600_000);
	assert.equal(p.maxAgeMs, 3 * p.intervalMs);
	assert.deepEqual(
		[p.gpuWeightPpm, p.cpuWeightPpm, p.ramWeightPpm, p.diskWeightPpm],
		[550_000, 200_000, 150_000, 100_000],
	);
	assert.deepEqual([p.healthEveryMs, p.healthMisses], [30_000, 3]);
});

test("an override takes the place of its row alone", () => {
	const params = createParams({
		intervalMs: 1000,
		jitterMs: 0,
		scoring: "sn27",
	});
	assert.equal(params.intervalMs, 1000);
	assert.equal(params.scoring, "sn27");
	assert.equal(params.retries, DEFAULT_PARAMS.retries);
	assert.throws(() => Object.assign(params, { retries: 1 }), TypeError);
});

test("what cannot be used is refused by name, with its limits", () => {
	assert.match(refusal({ intervalMS: 5 }), /intervalMS: there is no such parameter/);
	assert.match(refusal({ __defineGetter__: 5 }), /no such parameter/);
	assert.match(refusal({ constructor: 5 }), /no such parameter/);
	assert.match(refusal(JSON.parse('{"__proto__": 5}') as ParamOverrides), /no such parameter/);
	for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null, 2n, [], 21])
		assert.match(refusal({ retries: value }), /retries: must be an integer from 0 to 20/, String(value));
	assert.match(refusal({ scoring: "best" }), /scoring: must be holistic or sn27/);
	assert.match(refusal({ scoring: 1 }), /scoring: must be holistic or sn27/);
	assert.match(refusal({ rentedBonusPpm: 900_000 }), /rentedBonusPpm/, "being rented is no punishment");
});

test("rows that contradict one another are refused", () => {
	assert.match(refusal({ gpuWeightPpm: 600_000 }), /must be 1000000, not 1050000/);
	assert.equal(refusal({ gpuWeightPpm: 600_000, cpuWeightPpm: 150_000 }), "");
	assert.match(refusal({ maxAgeMs: 60_000 }), /maxAgeMs: must be at least intervalMs \+ jitterMs/);
	assert.match(refusal({ maxRentedAgeMs: 60_000 }), /maxRentedAgeMs/);
	assert.match(refusal({ leastRentalMs: 100, mostRentalMs: 99 }), /mostRentalMs/);
	assert.match(refusal({ gpuInt8WeightPpm: 0 }), /gpuMemoryWeightPpm: must be 1000000, not 850000/);
	assert.equal(refusal({ gpuInt8WeightPpm: 0, gpuFp16WeightPpm: 400_000 }), "");
});

test("all mistakes are told at once", () => {
	const message = refusal({ retries: -1, jitterMs: 0.5, colour: "red" });
	for (const name of ["retries", "jitterMs", "colour"]) assert.match(message, new RegExp(`${name}:`));
});
