// What each act costs in gas, as contracts/gas.json keeps it: a test measures whole transactions, compares,
// and holds the limits. `GAS=write` writes the file's part anew.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

const FILE = new URL("../gas.json", import.meta.url);
/** Which test measures what: nothing in the file is of nobody. */
const ACTS = {
	epochs: [
		"challengeEarned",
		"challengeReport",
		"challengeSet",
		"challengeShape",
		"challengeTotal",
		"challengeWeight",
		"challengeWeight64",
		"claim",
		"claimAgain",
		"claimFirstEver",
		"commit",
		"post",
		"post64",
		"punish64",
		"reveal",
		"revealFirst",
	],
	registry: [
		"announce",
		"bindDevice",
		"disallow",
		"lock",
		"register",
		"releaseDevice",
		"setSigner",
		"slash",
		"slashLocked",
		"stake",
		"unlock",
		"unstake",
		"withdraw",
	],
	jobs: [
		"jobAssign",
		"jobCheck",
		"jobClaim",
		"jobClaimLargest",
		"jobCollect",
		"jobDeposit",
		"jobFund",
		"jobRelease",
		"jobSettle",
		"jobShare",
		"judgeProduct16",
		"proveMap",
		"proveMapAdds",
		"proveMapLoads",
		"proveMapLoads1",
		"proveMapRands",
		"proveMapSelects",
		"proveMapSelects8",
		"proveMapTurn",
		"proveMapTurnEnd",
		"proveMatmul",
		"proveMatmul16By32",
		"proveMatmul32",
		"proveMatmul8By16",
		"proveReduce",
		"proveReduce16",
		"proveScatterAdd",
		"proveScatterAdd8",
		"proveScatterAddAll",
		"proveScatterAddAll64",
		"proveTwoWords",
	],
	games: [
		"gameAnswerMany20",
		"gameAsk",
		"gameClose",
		"gameCollect",
		"gameEverything",
		"gameLeaf",
		"gameNodes",
		"gameOp",
		"gameOpen",
		"gameProve",
		"gameSilent",
		"gameTensorNodes",
		"gameTimeout",
		"gameTrace",
		"gameTranscript",
		"proveWire",
	],
	others: [
		"answerOpening",
		"answerOpeningLargest",
		"demandExpire",
		"demandOpening",
		"proveGemmFp16",
		"proveGemmInt8",
		"rentalClose",
		"rentalExtend",
		"rentalOpen",
		"rentalWithdraw",
		"rollCallCommit",
	],
	attestations: [
		"attestCertifyOsaka",
		"attestCertifyPrague",
		"attestIdentifyOsaka",
		"attestIdentifyPrague",
		"attestInformLongOsaka",
		"attestInformLongPrague",
		"attestInformOsaka",
		"attestInformPrague",
		"attestListLongOsaka",
		"attestListLongPrague",
		"attestListOsaka",
		"attestListPrague",
		"attestRegisterLongOsaka",
		"attestRegisterLongPrague",
		"attestRegisterOsaka",
		"attestRegisterPrague",
		"attestWarmLongOsaka",
		"attestWarmLongPrague",
		"attestWarmOsaka",
		"attestWarmPrague",
	],
	receipts: ["receiptRisc0", "receiptSp1", "receiptSp1V6"],
	segments: [
		"zkSegment",
		"zkSegmentCalldata",
		"zkSegmentClaims",
		"zkSegmentDigits",
		"zkSegmentForm",
		"zkSegmentLookups",
		"zkSegmentOpening",
		"zkSegmentOrder",
		"zkSegmentPlan",
		"zkSegmentPoints",
		"zkSegmentProducts",
		"zkSegmentRest",
		"zkSegmentWeights",
	],
	jobSegments: ["zkJobList32", "zkJobSegment", "zkJobSegmentCalldata"],
	twins: ["twinLeaf", "twinSum"],
	zkJobs: [
		"hybridClear",
		"hybridDemand",
		"hybridElsewhere",
		"hybridOrder",
		"hybridSilence",
		"hybridWeight",
		"zkJobConclude",
		"zkJobList",
		"zkJobOrder",
		"zkJobSettle",
		"zkJobSubmit",
		"zkJobSubmitWaiting",
		"zkTreeAnswer",
		"zkTreeDemand",
		"zkTreePost",
		"zkTreeProveLeaf",
	],
	zk: ["zkHold", "zkHold11", "zkHold11Calldata", "zkRegister11"],
} as const;
type Part = keyof typeof ACTS;

/** Of a transaction's data: 4 for a byte of zeros, 16 for another. EIP-2028. */
export const calldataGas = (data: string): number =>
	data
		.slice(2)
		.match(/../g)!
		.reduce((sum, byte) => sum + (byte === "00" ? 4 : 16), 0);

export function checkGas(part: Part, measured: Readonly<Record<string, number>>): void {
	const read = () => JSON.parse(readFileSync(FILE, "utf8")) as Record<string, number>;
	if (process.env.GAS === "write") {
		const known = new Set<string>(Object.values(ACTS).flat());
		const kept = Object.entries({ ...read(), ...measured }).filter(([act]) => known.has(act));
		const sorted = Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
		writeFileSync(FILE, `${JSON.stringify(sorted, null, "\t")}\n`);
	}
	const golden = read();
	assert.deepEqual(Object.keys(measured).sort(), [...ACTS[part]]);
	assert.deepEqual(Object.keys(golden), Object.values(ACTS).flat().sort());
	// Random bytes cost 16 gas, zeros 4, and large inputs 40 and 10: addresses and hashes that differ by a zero
	// byte move a figure by some units.
	for (const [act, used] of Object.entries(measured)) {
		const slack = Math.max(500, golden[act]! / 500);
		assert.ok(Math.abs(used - golden[act]!) <= slack, `${act}: ${used}, golden ${golden[act]}`);
	}
}
