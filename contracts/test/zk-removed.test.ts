// Each check of the verifier of proofs on chain, removed alone, lets a named vector of
// contracts/vectors/zk.json pass, of a cheater who is honest in all else. With it the vector is refused:
// zk/ZkVerifier.t.sol. Compiling takes most of the time: one check in `npm test`, all of them in a deep run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { encodeDeployData, encodeFunctionData, type Hex } from "viem";
import { zkPlansCode } from "../../src/chain/abi/creation-code.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import { RpcRefusal } from "../../src/chain/node/rpc.ts";
import { isDeep } from "../../tests/fuzz.test-kit.ts";
import { type BareChain, openBareChain } from "./network.test-kit.ts";
import { compileAnew } from "./solc.test-kit.ts";
import { codeWithout, type RemovedCheck } from "./zk-removed.test-kit.ts";
import { DEV_BITS, devTau, NO_ID } from "./zk-vectors.test-kit.ts";

interface Removed extends RemovedCheck {
	/** Who passes then. */
	readonly vector: string;
}

const MISSING = "read(P_LINKS) == 1 ? INNER : 0";
const REMOVED: readonly Removed[] = [
	{
		file: "SegmentLookups",
		changes: [["!= claim) revert LookupsFalse();", "!= claim) {}"]],
		vector: "a value in no table, and a helper that fits it",
	},
	{
		file: "SegmentProducts",
		changes: [["if (kernel != claim) revert ProductsFalse();", ""]],
		vector: "a sum that is no product",
	},
	{
		file: "SegmentProducts",
		changes: [["if (kernel != claim) revert WeightsFalse();", ""]],
		vector: "steps that take nothing away",
	},
	{
		file: "SegmentClaims",
		changes: [["!= claim) revert ClaimsFalse();", "!= claim) {}"]],
		vector: "zeros instead of what is used",
	},
	{
		file: "SegmentClaims",
		// Of message 10 nothing is claimed.
		changes: [["lt(to, 0x380)", "lt(to, 0x300)"]],
		vector: "other values of the bytes",
	},
	{ file: "SegmentClaims", changes: [[MISSING, "1 << 10"]], vector: "labels that are not those of the rows" },
	{ file: "SegmentClaims", changes: [[MISSING, "1 << 19"]], vector: "a value in no table, which no helper counts" },
	{
		file: "Opening",
		changes: [["if (!Bn254.isSame(left, right, tau)) revert OpeningFalse();", "Bn254.isSame(left, right, tau);"]],
		vector: "zeros instead of what is opened",
	},
	{
		file: "Bn254",
		changes: [["if (!isSmall) revert NumberTooLarge();", ""]],
		vector: "another spelling of a scalar",
	},
	{
		file: "ZkVerifier",
		changes: [["if (points.length != 64 * told) revert", "if (false) revert"]],
		vector: "a byte behind the commitments",
	},
	{
		file: "ZkVerifier",
		changes: [["if (proof.length != size) revert", "if (false) revert"]],
		vector: "a word before the opening",
	},
	{
		file: "ZkVerifier",
		changes: [["firstStep % steps != 0", "false"]],
		vector: "a segment that begins between two",
	},
	{
		file: "ZkVerifier",
		changes: [["(firstStep + steps) * read(P_BATCH) > read(P_EPOCHS) << read(P_ROW_BITS)", "false"]],
		vector: "a segment after the last epoch",
	},
];

const MAIN = "zk/ZkVerifier.sol";

/** As the vectors' statements have it. */
const CHAIN_ID = 5;
const vectors = JSON.parse(readFileSync(new URL("../vectors/zk.json", import.meta.url), "utf8")) as {
	readonly [list in "names" | "plans" | "calls"]: readonly Hex[];
};
let chain: BareChain;
let plans: Hex;

before(async () => {
	chain = await openBareChain({ chainId: CHAIN_ID });
	plans = await chain.put(zkPlansCode);
});
after(() => chain.close());

for (const [i, removed] of REMOVED.entries())
	if (isDeep || i === 0)
		test(`without its check passes: ${removed.vector}`, async () => {
			const at = (vectors.names as readonly string[]).indexOf(removed.vector);
			const args = [vectors.plans[at]!] as const;
			const data = encodeFunctionData({ abi: zkPlansAbi, functionName: "register", args });
			await chain.send({ to: plans, data });
			const powers = [plans, devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;
			const code = encodeDeployData({ abi: zkVerifierAbi, bytecode: codeWithout(MAIN, removed), args: powers });
			const to = await chain.put(code);
			const call = { to, data: vectors.calls[at], gas: "0x4c4b40" };
			await chain.client.rpc("eth_call", [call, "latest"]).catch((error: unknown) => {
				throw error instanceof RpcRefusal ? new Error(`refused: ${JSON.stringify(error.data)}`) : error;
			});
		});

test("what is no Solidity any more does not pass for a removed check: solc says what is wrong, and goes on", () => {
	const sums = Array.from({ length: 17 }, (_, i) => `a${i}`);
	for (const [wrong, body] of [
		["ParserError: Expected type name", "function f( "],
		["TypeError: Type literal_string", 'uint256 a = "a";'],
		["DeclarationError: Undeclared identifier", "uint256 a = b;"],
		[
			"CompilerError: Stack too deep",
			`function f(uint256 ${sums.join(",uint256 ")}) public pure { ${sums.join("+")}; }`,
		],
	] as const) {
		const compile = () => compileAnew("A.sol", ["evm.bytecode.object"], () => `contract A { ${body} }`);
		assert.throws(compile, ({ actual }) => JSON.stringify(actual).includes(wrong), wrong);
	}
	assert.match(compileAnew("A.sol", ["evm.bytecode.object"], () => "contract A {}").bytecode.object, /^60/);
});
