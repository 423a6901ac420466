// `assay verify` for the file of a roll call: asks the node that was named, if one was, and prints the
// verdict. The chain's client is loaded only then.
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import { decodeRollCallFile, type RollCallBody } from "../../protocol/roll-call/roll-file.ts";
import type { ChainFacts, RollExpectations } from "../../verify/roll-call/chain-facts.ts";
import { readChainFacts } from "../../verify/roll-call/read-chain-facts.ts";
import { verifyRollCall } from "../../verify/roll-call/verify-roll-call.ts";
import type { CliIo } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { usageError } from "../options.ts";
import { formatDuration } from "../print/format.ts";
import { printResult } from "../print/print-result.ts";
import { rollCallLines } from "../print/roll-call-lines.ts";

interface Asked {
	readonly chain?: string | undefined;
	readonly contract?: string | undefined;
	readonly host?: string | undefined;
	readonly notBeforeS?: number | undefined;
	readonly json: boolean;
}

export async function verifyRollCallFile(file: Uint8Array, path: string, asked: Asked, io: CliIo): Promise<number> {
	const decoded = decodeRollCallFile(file);
	const body = decoded.ok ? decoded.evidence.envelope.body : null;
	const facts = asked.chain === undefined || body === null ? null : await askNode(asked.chain, body);
	const expect: RollExpectations = {
		...(asked.contract === undefined ? {} : { contract: asked.contract.toLowerCase() }),
		...(asked.host === undefined ? {} : { host: asked.host }),
		...(asked.notBeforeS === undefined ? {} : { notBeforeS: asked.notBeforeS }),
	};
	const { clockUs } = realEnvironment();
	const verdict = verifyRollCall(file, facts, expect);
	const tookUs = clockUs();
	printResult(asked, io, { ...verdict, file: path, fileBytes: file.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`);
		return [...rollCallLines(verdict, body, asked.contract !== undefined, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}

/** A mistyped URL is to be told at once; a file can be checked again. */
const NODE_PATIENCE_MS = 2000;

async function askNode(url: string, body: RollCallBody): Promise<ChainFacts> {
	if (!/^https?:\/\//.test(url)) throw usageError(`--chain takes a URL with http:// or https://, not '${url}'`);
	const { httpRpc, withRetries } = await import("../../chain/node/http-rpc.ts");
	const rpc = withRetries(httpRpc(url), { patienceMs: NODE_PATIENCE_MS });
	try {
		return await readChainFacts(rpc, body);
	} catch (cause) {
		if (cause instanceof AssayError && cause.code === "CHAIN_UNREACHABLE")
			throw new AssayError(cause.code, `no node answers at ${withoutLogin(url)}: nothing was compared with its chain`, {
				hint: "Check --chain: the URL of a node of the chain. Without it the file is judged by itself.",
				cause,
			});
		if (cause instanceof AssayError) throw cause;
		throw new AssayError("CHAIN_NODE", `the node at ${url} does not answer as one: ${(cause as Error).message}`, {
			hint: "Check the URL, or ask another node of the chain.",
			cause,
		});
	}
}
