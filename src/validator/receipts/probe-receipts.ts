// A validator's probe receipts while it runs: who has to give them, where they are kept, and which evidence
// waits to be brought before the chain. Notes of such evidence are files, written before its verdict is
// counted, so that after a crash the next process finds them. Page: docs/slashing.md. Not here: the accusing
// (settlement/fraud-keeper.ts).
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ProviderBook } from "../../chain/history/provider-book.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import { given } from "../../market/scores/recompute.ts";
import { isInTime } from "../../platform/abortable.ts";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { ReceiptDomain, ReceiptFile } from "../../protocol/chain/probe-receipt.ts";
import { type BucketOptions, createBucket } from "../../store/bucket/bucket.ts";
import { createReceiptFolder } from "../../store/files/receipt-folder.ts";
import { createReceiptCollector, type ReceiptCollector } from "./collect-receipts.ts";

/** Evidence that may be fraud: its hash, and whose it is. */
export interface FraudNote {
	readonly evidence: string;
	readonly probeId: string;
	readonly providerId: string;
}

export interface ProbeReceiptsOptions {
	readonly dataDir: string;
	/** Where receipts go besides, for the other machines of a network; null: nowhere. */
	readonly bucket?: BucketOptions | null;
	/** Of the chain. */
	readonly folder: string;
	readonly domain: ReceiptDomain;
	readonly book: Pick<ProviderBook, "refresh" | "accountOf" | "signerOf">;
	/** Whether this evidence was made here. */
	readonly hasEvidence: (sha256: string) => Promise<boolean>;
	readonly after: Environment["after"];
	readonly nowMs: () => number;
}

/**
 * A probe waits for a node that answered the last time: an account that was not seen makes a whole epoch's
 * score 0.
 */
const BOOK_WITHIN_MS = 30_000;
/**
 * It does not wait long for one that did not answer: who registered this very moment is asked the next time.
 */
const SLOW_WITHIN_MS = 2000;
/** Between looks at the chain for a provider with an account, which seldom changes. */
const KNOWN_EVERY_MS = 60_000;
/** For one without: who registered before its probe must be asked. */
const UNKNOWN_EVERY_MS = 200;

const SPOILT: Pick<ReceiptFile, "receipts" | "missing"> = { receipts: [], missing: [] };

export class ProbeReceipts {
	private readonly options: ProbeReceiptsOptions;
	private readonly files: ReturnType<typeof createReceiptFolder>;
	private readonly noteFolder: string;
	private lookedAtMs = Number.NEGATIVE_INFINITY;
	private looking: Promise<void> | null = null;
	private isSlow = false;

	constructor(options: ProbeReceiptsOptions) {
		this.options = options;
		this.files = createReceiptFolder(options.dataDir, options.bucket ? createBucket(options.bucket) : null);
		this.noteFolder = join(options.folder, "frauds");
	}

	/** Null: this provider has no account on the chain, so that its receipts would bind nobody. */
	async collect(providerId: string, probeId: string): Promise<ReceiptCollector | null> {
		const provider = await this.accountOf(providerId);
		const signer = provider === null ? null : this.options.book.signerOf(provider);
		if (provider === null || signer === null) return null;
		return createReceiptCollector({ domain: this.options.domain, provider, signer, probeId });
	}

	put(file: ReceiptFile): Promise<void> {
		return this.files.put(file);
	}

	/** To the bucket, what it has not got yet. */
	sendUnsent(): Promise<void> {
		return this.files.sendUnsent();
	}

	get(evidenceSha256: string): Promise<ReceiptFile | null> {
		return this.files.get(evidenceSha256);
	}

	/** Durable before it resolves. Does nothing for evidence without receipts. */
	async note(note: FraudNote): Promise<void> {
		if (((await this.readable(note.evidence))?.receipts ?? []).length === 0) return;
		await writeDurably(this.noteOf(note.evidence), `${JSON.stringify(note)}\n`);
	}

	async notes(): Promise<readonly FraudNote[]> {
		const names = await readdir(this.noteFolder).catch((error: NodeJS.ErrnoException) => {
			if (error.code === "ENOENT") return [];
			throw error;
		});
		const paths = names.filter((name) => name.endsWith(".json")).map((name) => join(this.noteFolder, name));
		const texts = await Promise.all(paths.map((path) => readIfPresent(path)));
		return texts.flatMap((text) => (text === null ? [] : (JSON.parse(String(text)) as FraudNote)));
	}

	async dropNote(evidence: string): Promise<void> {
		await rm(this.noteOf(evidence), { force: true });
	}

	/** As reported on chain: 0 where receipts are missing, or the account came after the proof. */
	async reported(explanation: Explanation): Promise<Explanation> {
		if (explanation.evidence === null || explanation.scorePpm === 0) return explanation;
		const why = await this.whyUnsigned(explanation.providerId, explanation.evidence);
		if (why === null) return explanation;
		return { ...explanation, scorePpm: 0, why, root: given("score", "ppm", 0, `state:${why}`) };
	}

	private noteOf(evidence: string): string {
		return join(this.noteFolder, `${evidence}.json`);
	}

	/** A file that our own disk spoilt is held against nobody, and holds up neither a verdict nor a report. */
	private readable(evidence: string) {
		return this.files.get(evidence).catch(() => SPOILT);
	}

	/** Null: signed for, or nothing that could be held against its provider. */
	private async whyUnsigned(providerId: string, evidence: string): Promise<string | null> {
		const { book, hasEvidence } = this.options;
		const file = await this.readable(evidence);
		const [first, ...more] = file?.missing ?? [];
		if (first)
			return `no receipt for ${more.length === 0 ? "a challenge" : `${more.length + 1} challenges`}: ${first.why}`;
		if (file !== null || book.accountOf(providerId) === null) return null;
		// ATTACK: an account that comes after the probe and goes before the next one would be paid and never
		// bound. Evidence that lies elsewhere has its receipts there.
		return (await hasEvidence(evidence)) ? "no receipt: the account is younger than the proof" : null;
	}

	private async accountOf(providerId: string): Promise<Hex | null> {
		const { book, nowMs, after } = this.options;
		const everyMs = book.accountOf(providerId) === null ? UNKNOWN_EVERY_MS : KNOWN_EVERY_MS;
		if (nowMs() - this.lookedAtMs >= everyMs) {
			this.looking ??= this.look();
			if (!(await isInTime(this.looking, this.isSlow ? SLOW_WITHIN_MS : BOOK_WITHIN_MS, after))) this.isSlow = true;
		}
		return book.accountOf(providerId);
	}

	private async look(): Promise<void> {
		try {
			await this.options.book.refresh();
			this.lookedAtMs = this.options.nowMs();
			this.isSlow = false;
		} catch {
			// What it knew before stands.
			this.isSlow = true;
		} finally {
			this.looking = null;
		}
	}
}
