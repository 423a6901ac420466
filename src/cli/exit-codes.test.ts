// Which error ends in which exit: every code of src/protocol/codes.ts that is an error, once, and no other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../protocol/assay-error.ts";
import { type CodeEntry, codes } from "../protocol/codes.ts";
import { errorExits, errorToExitCode, exitCodes } from "./exit-codes.ts";

test("every code of an error has one exit, and no other code has any", () => {
	const table = Object.entries(codes as Readonly<Record<string, CodeEntry>>);
	const errors = table.filter(([, { kind }]) => kind === "error").map(([code]) => code);
	const listed = errorExits.map(([code]) => code);
	const twice = listed.filter((code, i) => listed.indexOf(code) !== i);
	const missing = errors.filter((code) => !listed.includes(code));
	const unknown = listed.filter((code) => !errors.includes(code));
	assert.deepEqual({ twice, missing, unknown }, { twice: [], missing: [], unknown: [] }, "src/cli/exit-codes.ts");
});

test("what a command that failed ends with", () => {
	const exit = (code: string) => errorToExitCode(new AssayError(code, ""));
	for (const [code, name] of errorExits) assert.equal(exit(code), exitCodes[name].code);
	// What is false, what is malformed, what is not there.
	assert.deepEqual(["CLAIM_ROOT", "JOB_RESULT_WRONG", "SRS_WRONG"].map(exit), [1, 1, 1]);
	assert.deepEqual(["JOB_FIELD", "PROGRAM_TEXT", "MODEL_CONFIG", "CLAIM_MALFORMED"].map(exit), [66, 66, 66, 66]);
	assert.deepEqual(["CLAIM_UNKNOWN", "JOB_UNKNOWN"].map(exit), [67, 67]);
	assert.deepEqual(["COLLATERAL_MISSING", "A_CODE_OF_TOMORROW", "toString"].map(exit), [2, 69, 69]);
	assert.equal(errorToExitCode(new TypeError("a bug")), 70);
});
