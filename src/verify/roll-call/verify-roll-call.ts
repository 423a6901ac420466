// Is the public file of a roll call true? A pure function of its bytes, of what a node said about the blocks
// it names, and of what the asker expects; the same in validator, CLI and browser. Bad files are values,
// never exceptions. docs/roll-call.md.
import { isEmbeddedChainId } from "../../protocol/chain/embedded-chain-id.ts";
import type { Finding } from "../../protocol/probe/verdict.ts";
import { ROLL_WINDOW_S, rollBytes, rollOps } from "../../protocol/roll-call/roll-call.ts";
import { decodeRollCallFile, formatOf, type RollCallBody } from "../../protocol/roll-call/roll-file.ts";
import type { RollVerdict } from "../../protocol/roll-call/roll-verdict.ts";
import { skippedShareAt99 } from "../hardware/confidence.ts";
import { type Fault, fault, firstFault } from "../hardware/fault.ts";
import type { ChainFacts, RollExpectations } from "./chain-facts.ts";
import { checkLeaf, checkRollContents, checkSizes, type RollAnswered, readRollAnswer } from "./check-answer.ts";
import { calledAtS, checkChain, checkOrder } from "./check-chain.ts";
import { checkDrand } from "./check-drand.ts";

/** `chain` null: no node was asked, and the verdict says so. */
export function verifyRollCall(file: Uint8Array, chain: ChainFacts | null, expect: RollExpectations = {}): RollVerdict {
	try {
		return judge(file, chain, expect);
	} catch (error) {
		// Last resort, never the way a bad file is refused: tests show that no mutation gets here.
		return invalid(fault("INTERNAL", "verify", error instanceof Error ? error.message : "unknown"));
	}
}

const invalid = ({ code, where, detail }: Fault): RollVerdict => ({ status: "invalid", code, where, detail });

function judge(file: Uint8Array, chain: ChainFacts | null, expect: RollExpectations): RollVerdict {
	const decoded = decodeRollCallFile(file);
	if (!decoded.ok) {
		if (formatOf(file) === "assay-evidence")
			return invalid(fault("NOT_PUBLIC", "body.format", "the file of a probe, not of a roll call"));
		return { status: "invalid", code: decoded.code, where: decoded.where, detail: decoded.detail };
	}
	const { envelope, attachments } = decoded.evidence;
	const { body } = envelope;
	const early = firstFault(
		() => checkExpectations(body, expect),
		() => checkSizes(body),
		() => checkOrder(body),
		() => (chain === null ? null : checkChain(body, chain)),
		() => checkDrand(body.beacon, expect.drand),
	);
	if (early !== null) return invalid(early);
	const read = readRollAnswer(body, attachments);
	if (!read.ok) return invalid(read.fault);
	const { answered } = read;
	const found = checkLeaf(body, answered) ?? checkRollContents(body, answered);
	return found === null ? valid(body, answered, chain, expect) : invalid(found);
}

function checkExpectations({ chain, host, beacon }: RollCallBody, expect: RollExpectations): Fault | null {
	if (expect.contract !== undefined && chain.contract !== expect.contract)
		return fault("CALL_UNEXPECTED", "chain.contract", "not the contract asked for");
	if (expect.host !== undefined && host.key !== expect.host)
		return fault("CALL_UNEXPECTED", "host.key", "not the host asked for");
	if (expect.notBeforeS !== undefined && calledAtS(beacon) < expect.notBeforeS)
		return fault("CALL_UNEXPECTED", "beacon.called", "before the time asked for");
	return null;
}

/**
 * What keeps it from being public. ATTACK: who makes a contract chooses its window, and with it the block
 * that the places are drawn from; a thousand contracts are a thousand draws of one answer. So a contract that
 * the asker did not name must have the usual window.
 */
function doubts({ chain: { id } }: RollCallBody, chain: ChainFacts | null, expect: RollExpectations): Finding[] {
	if (chain === null) return [{ code: "CHAIN_UNASKED", detail: "the blocks are the file's own word" }];
	if (isEmbeddedChainId(id)) return [{ code: "CHAIN_EMBEDDED", detail: `chain ${id} is a validator's own` }];
	if (expect.contract === undefined && chain.windowS !== ROLL_WINDOW_S)
		return [{ code: "WINDOW_UNUSUAL", detail: `${chain.windowS} s, not ${ROLL_WINDOW_S}` }];
	return [];
}

function valid(
	body: RollCallBody,
	{ gemm, stream }: RollAnswered,
	chain: ChainFacts | null,
	expect: RollExpectations,
): RollVerdict {
	const { answer, host, validator, call, beacon, committed } = body;
	const { device } = answer;
	const fromS = calledAtS(beacon);
	const findings = doubts(body, chain, expect);
	const opsPerS = Number(rollOps(answer) / BigInt(committed.atS - fromS));
	return {
		status: "valid",
		strength: findings.length === 0 ? "public" : "private",
		// Both are lower bounds: the work took no longer than from block to block, and may have taken less.
		figures: [
			{
				device,
				name: "gemm.int8.least",
				value: Math.min(opsPerS, Number.MAX_SAFE_INTEGER),
				unit: "op/s",
				challenge: 0,
			},
			{ device, name: "memory.held", value: rollBytes(answer), unit: "B", challenge: 1 },
		],
		confidence: [gemm, stream].map(({ opens }, challenge) => {
			const samples = opens[0]!.openings.length;
			return { challenge, samples, skippedShareAt99: skippedShareAt99(samples) };
		}),
		findings,
		host: host.key,
		account: host.account,
		validator,
		chain: body.chain,
		call,
		calledAtS: fromS,
		committedAtS: committed.atS,
	};
}
