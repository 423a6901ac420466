// `assay audit EPOCH`: recomputes an epoch from the chain, the reports' leaves, the scores' terms and the
// evidence, and lists every difference. Needs a node and the contracts' addresses, nothing else. What is
// compared with what: docs/epochs.md §6.
import { randomBytes, randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readAccountFor } from "../../chain/contracts/registry.ts";
import { readEpochParams, windowsOf } from "../../chain/contracts/scoreboard.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import { accuseSigners } from "../../validator/audit/accuse-signers.ts";
import { auditEpoch, type EpochAudit } from "../../validator/audit/audit-epoch.ts";
import { createEvidenceAudit, type EvidenceAudit, type ProofTime } from "../../validator/audit/audit-evidence.ts";
import { archiveSource, either, peerSource } from "../../validator/audit/audit-source.ts";
import { createLeafFetcher } from "../../validator/settlement/fetch-leaves.ts";
import { loadChainKey } from "../../validator/settlement/home.ts";
import { createReportArchive } from "../../validator/settlement/report-archive.ts";
import { readEvidenceFrom } from "../chain/audit-files.ts";
import { type ReadingChain, withReadingChain } from "../chain/chain-connection.ts";
import { readKeyOption } from "../chain/chain-key.ts";
import { chainOptions, keyOptions } from "../chain/chain-options.ts";
import { GAS, requireGas } from "../chain/require-funds.ts";
import { type CliIo, command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { account, flag, list, readNumber, text, usageError, type Values, whole } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { type Column, left, plural, shown, table } from "../print/table.ts";

const options = {
	evidence: flag(
		"also verify evidence, as assay verify does, and derive the scores from it; files come from the data folder or from the" +
			" validators. Prints between which two blocks each proof was made",
	),
	"evidence-folder": text("DIR", "take evidence files from this folder, by their hashes"),
	sample: whole("N", "verify N evidence files of each report, drawn at random (with --evidence)", [1, 1e6]),
	provider: list("ACCOUNT", "verify only this provider's evidence (with --evidence)", account),
	accuse: flag(
		"prove wrong weights on chain and have their signers punished, from this validator's account or --key-file; the" +
			" accuser gets a share",
	),
	"no-evidence": flag("do not even compare this validator's own files with their hashes"),
	...keyOptions,
	...chainOptions,
};

type AuditValues = Values<typeof options>;

export const auditCommand = command({
	name: "audit",
	about: `Reads the roots, stakes, signatures, weights and payments of an epoch from the chain, and the leaves and the terms behind
them from this data folder or from the validators. Recomputes every score (from its terms), every weight, what each account
earned and has earned so far, checks every signature, and lists every difference. It needs no account and no data folder:
anyone can run it with --rpc and --contracts.`,
	takes: "EPOCH",
	options,
	exits: { 1: "differences found", 67: "no such epoch yet", 69: "no chain or no answer" },

	async run(values, io, given) {
		const epoch = Math.floor(readNumber("EPOCH", given!, 0, 1e12));
		const choose = chooserOf(values, io);
		return withReadingChain(values, io, async (chain) => {
			const { contracts } = chain;
			await mustHaveEnded(contracts, epoch);
			const kept = archiveSource(createReportArchive(join(chain.folder, "epochs")));
			const fetched = peerSource(createLeafFetcher(contracts), (from, error) =>
				io.err.write(`  ${from}: ${String(error)}\n`),
			);
			const found = await auditEpoch({
				contracts,
				epoch,
				source: either(kept, fetched),
				evidence: await evidenceAuditOf(values, io, chain),
				choose,
			});
			const accused = values.accuse ? await accuse(values, io, chain, found) : [];
			const { view: _, wrong, ...shown } = found;
			printResult(
				values,
				io,
				{ ...shown, wrong: wrong.map(({ id, fault }) => ({ id, fault: fault.kind })), accused },
				(paint) => `${auditText(found, paint)}${accused.map((who) => `${who} was punished\n`).join("")}`,
			);
			return found.differences.length === 0 ? 0 : exitCodes.invalid.code;
		});
	},
});

/** Nothing can be said of it before; and of one that never comes nothing ever. */
async function mustHaveEnded(contracts: ReadingChain["contracts"], epoch: number): Promise<void> {
	const { endsAt } = windowsOf(await readEpochParams(contracts), epoch);
	const { timestamp } = await contracts.client.viem.getBlock({ blockTag: "latest" });
	if (Number(timestamp) >= endsAt) return;
	const when = endsAt < 8.64e12 ? `: it ends at ${new Date(endsAt * 1000).toISOString()}` : "";
	throw new AssayError("EPOCH_UNKNOWN", `epoch ${epoch} has not ended${when}`, {
		hint: "`assay chain status` shows the newest epochs.",
	});
}

function chooserOf(values: AuditValues, io: CliIo): (leaves: readonly ScoreLeaf[]) => readonly ScoreLeaf[] {
	const { sample: count } = values;
	const isVerified = values.evidence || values["evidence-folder"] !== undefined;
	if (!isVerified && (count !== undefined || values.provider !== undefined))
		throw usageError("--sample and --provider choose among evidence files: they go with --evidence");
	const wanted = values.provider === undefined ? null : new Set(values.provider.map((who) => who.toLowerCase()));
	return (leaves) => {
		const among = leaves.filter(({ provider }) => wanted === null || wanted.has(provider));
		if (count !== undefined) return drawn(among, count);
		if (isVerified && among.length > MANY)
			io.err.write(`  verifying ${among.length} evidence files; --sample ${MANY} checks a random sample\n`);
		return among;
	};
}

/** A file takes 0.1 to 0.5 s. */
const MANY = 100;

/** Drawn by real randomness: a cheater must not know which files are checked. */
function drawn<T>(among: readonly T[], count: number): readonly T[] {
	const left = [...among];
	for (let i = 0; i < Math.min(count, left.length); i++) {
		const j = i + randomInt(left.length - i);
		[left[i], left[j]] = [left[j]!, left[i]!];
	}
	return left.slice(0, count);
}

/**
 * Verified on request; otherwise this validator's own files are compared with their hashes, where it has any.
 */
async function evidenceAuditOf(values: AuditValues, io: CliIo, chain: ReadingChain): Promise<EvidenceAudit | null> {
	if (values["no-evidence"]) return null;
	const isVerified = values.evidence || values["evidence-folder"] !== undefined;
	const { contracts, folder, dataDir } = chain;
	const folders = [join(dataDir, "evidence")];
	if (values["evidence-folder"] !== undefined) folders.unshift(resolve(io.cwd, values["evidence-folder"]));
	const read = readEvidenceFrom({ contracts, folders, isFetched: isVerified });
	const audit = createEvidenceAudit({ client: contracts.client, read, isVerified });
	if (isVerified) return audit;
	const own = existsSync(folders[0]!) ? await ownAccount(folder) : null;
	if (own === null) return null;
	const self = await readAccountFor(contracts, own.address);
	return { check: async (one) => (one.validator === self ? audit.check(one) : null) };
}

/** Whose stake was taken by this. */
async function accuse(
	values: AuditValues,
	io: CliIo,
	chain: ReadingChain,
	{ view, wrong }: EpochAudit,
): Promise<readonly string[]> {
	if (wrong.length === 0) return [];
	const { contracts, folder } = chain;
	const sender = (await readKeyOption(values, io)) ?? (await ownAccount(folder));
	if (sender === null) throw usageError("--accuse needs an account: --key-file, or a validator's data folder");
	await requireGas(contracts.client, sender, GAS.accuse);
	return accuseSigners(contracts, sender, { view, wrong, secret: randomBytes(32) });
}

/** Null: this folder is no validator's. Nothing is made. */
async function ownAccount(folder: string): Promise<ChainAccount | null> {
	if (!existsSync(join(folder, "account.key"))) return null;
	const secret = await loadChainKey(folder, "account", () => new Uint8Array(32));
	return accountOf(`0x${Buffer.from(secret).toString("hex")}`);
}

/** More than these are for --json. */
const MAX_LINES = 100;
const MAX_PROOFS = 20;

const differenceColumns: readonly Column<EpochAudit["differences"][number]>[] = [
	left("what", ({ what }) => what),
	left("code", ({ code }) => code),
	left("whose", ({ who }) => shown(who, 42)),
	left("stated", ({ stated }) => shown(stated, 60)),
	left("recomputed", ({ right }) => shown(right, 60)),
];

function auditText(found: EpochAudit, paint: Paint): string {
	const { epoch, validators, counted, signed, providers, scores, evidenceFiles, paid, weights, differences } = found;
	const { notes, made } = found;
	const parts = [
		plural(validators, "report"),
		...(weights === "none" ? ["no weights"] : [`${counted} count`, `weights ${weights}, signed by ${signed}`]),
		plural(providers, "provider"),
		`${plural(scores, "score")} recomputed`,
		plural(evidenceFiles, "evidence file"),
		`${plural(paid, "account")} paid`,
	];
	const lines = [
		`epoch ${epoch}: ${parts.join(", ")}`,
		...notes.map((note) => `note: ${shown(note, 400)}`),
		...made.slice(0, MAX_PROOFS).map(proofLine),
		...(made.length > MAX_PROOFS ? [`… and ${made.length - MAX_PROOFS} more proofs: --provider or --json`] : []),
	];
	if (differences.length === 0)
		return `${lines.join("\n")}\n${found.validators === 0 ? "nothing was reported: there is nothing to compare" : "no differences"}\n`;
	const rows = table(differenceColumns, differences.slice(0, MAX_LINES), paint);
	return `${lines.join("\n")}\n${rows}\n${plural(differences.length, "difference")}\n`;
}

function proofLine({ provider, after, before, saidMs }: ProofTime): string {
	const moment = ({ block, timeS }: { readonly block: number; readonly timeS: number }) =>
		`block ${block} (${new Date(timeS * 1000).toISOString()})`;
	const from =
		after === null
			? `no block in its seeds, ${new Date(saidMs).toISOString()} by its validator's clock`
			: `after ${moment(after)}`;
	return `proof ${provider}: ${from}, before ${before === null ? "an unknown block" : moment(before)}`;
}
