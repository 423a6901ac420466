// A validator's receipts while it runs: who has to give them, where they are kept, and which evidence waits to be brought before the chain. Page: docs/chain.md §5.
// Notes of such evidence are files, written before its verdict is counted: whoever dies when, the next process finds them. Not here: the accusing (fraud-keeper.ts).
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ProviderBook } from "../../chain/history/provider-book.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import { given } from "../../market/scores/recompute.ts";
import { isInTime } from "../../platform/abortable.ts";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Hex, ReceiptDomain, ReceiptFile } from "../../protocol/chain/probe-receipt.ts";
import { createReceiptFolder } from "../../store/files/receipt-folder.ts";
import { createReceiptCollector, type ReceiptCollector } from "./collect-receipts.ts";

/** Evidence that may be fraud: its hash, and whose it is. */
export interface FraudNote {
	readonly evidence: string;
	readonly probeId: string;
	readonly providerId: string;
}

export interface ReceiptKeeper {
	/** Null: this provider has no account on the chain, so that its receipts would bind nobody. */
	collect(providerId: string, probeId: string): Promise<ReceiptCollector | null>;
	put(file: ReceiptFile): Promise<void>;
	get(evidenceSha256: string): Promise<ReceiptFile | null>;
	/** Durable before it resolves. Does nothing for evidence without receipts. */
	note(note: FraudNote): Promise<void>;
	notes(): Promise<readonly FraudNote[]>;
	dropNote(evidence: string): Promise<void>;
	/** The score as it is reported on chain: 0 where receipts were asked for and not all were given, or an account came after the proof. */
	reported(explanation: Explanation): Promise<Explanation>;
}

/** A probe does not wait for a slow node: who registered this very moment is asked the next time. */
const BOOK_WITHIN_MS = 2000;
/** Between looks at the chain for a provider that has an account, which seldom changes, and for one that has none yet: who registered before its probe must be asked. */
const KNOWN_EVERY_MS = 60_000;
const UNKNOWN_EVERY_MS = 200;

const SPOILT: Pick<ReceiptFile, "receipts" | "missing"> = { receipts: [], missing: [] };

export function createReceiptKeeper(o: {
	readonly dataDir: string;
	/** Of the chain. */
	readonly folder: string;
	readonly domain: ReceiptDomain;
	readonly book: Pick<ProviderBook, "refresh" | "accountOf">;
	/** Whether this evidence was made here. */
	readonly hasEvidence: (sha256: string) => Promise<boolean>;
	readonly after: Environment["after"];
	readonly nowMs: () => number;
}): ReceiptKeeper {
	const files = createReceiptFolder(o.dataDir);
	const noteFolder = join(o.folder, "frauds");
	const noteOf = (evidence: string) => join(noteFolder, `${evidence}.json`);

	/** A file that our own disk spoilt is held against nobody, and holds up neither a verdict nor a report. */
	const readable = (evidence: string) => files.get(evidence).catch(() => SPOILT);

	/** Null: signed for, or nothing that could be held against its provider. */
	async function whyUnsigned(providerId: string, evidence: string): Promise<string | null> {
		const file = await readable(evidence);
		const [first, ...more] = file?.missing ?? [];
		if (first)
			return `no receipt for ${more.length === 0 ? "a challenge" : `${more.length + 1} challenges`}: ${first.why}`;
		if (file !== null || o.book.accountOf(providerId) === null) return null;
		// ATTACK: an account that comes after the probe and goes before the next one would be paid and never bound. Evidence that lies elsewhere has its receipts there.
		return (await o.hasEvidence(evidence)) ? "no receipt: the account is younger than the proof" : null;
	}

	let lookedAtMs = Number.NEGATIVE_INFINITY;
	let looking: Promise<void> | null = null;

	function look(): Promise<void> {
		looking ??= o.book
			.refresh()
			.then(
				() => {
					lookedAtMs = o.nowMs();
				},
				// What it knew before stands.
				() => {},
			)
			.finally(() => {
				looking = null;
			});
		return looking;
	}

	async function accountOf(providerId: string): Promise<Hex | null> {
		const everyMs = o.book.accountOf(providerId) === null ? UNKNOWN_EVERY_MS : KNOWN_EVERY_MS;
		if (o.nowMs() - lookedAtMs < everyMs) return o.book.accountOf(providerId);
		await isInTime(look(), BOOK_WITHIN_MS, o.after);
		return o.book.accountOf(providerId);
	}

	return {
		async collect(providerId, probeId) {
			const provider = await accountOf(providerId);
			return provider === null ? null : createReceiptCollector({ domain: o.domain, provider, probeId });
		},
		put: files.put,
		get: files.get,
		async note(note) {
			if (((await readable(note.evidence))?.receipts ?? []).length === 0) return;
			await writeDurably(noteOf(note.evidence), `${JSON.stringify(note)}\n`);
		},
		async notes() {
			const names = await readdir(noteFolder).catch((error: NodeJS.ErrnoException) => {
				if (error.code === "ENOENT") return [];
				throw error;
			});
			const texts = await Promise.all(
				names.filter((name) => name.endsWith(".json")).map((name) => readIfPresent(join(noteFolder, name))),
			);
			return texts.flatMap((text) => (text === null ? [] : (JSON.parse(String(text)) as FraudNote)));
		},
		dropNote: (evidence) => rm(noteOf(evidence), { force: true }),
		async reported(explanation) {
			if (explanation.evidence === null || explanation.scorePpm === 0) return explanation;
			const why = await whyUnsigned(explanation.providerId, explanation.evidence);
			if (why === null) return explanation;
			return { ...explanation, scorePpm: 0, why, root: given("score", "ppm", 0, `state:${why}`) };
		},
	};
}
