// All draws of a job done again from what is public, docs/jobs.md §10: list, secret, block, choice and
// windows. Whoever changed one of them afterwards is named by what it changed. Pure: what the chain says is
// an argument. What nobody can recompute is said too: whether a host that was passed over was busy.
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { JobAudit, JobMethod, JobPart } from "../../protocol/network/job.ts";
import { drawHash } from "../../protocol/network/job-offer.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { type Candidate, drawFrom, drawSeed, drawWindows, listHash, NO_BLOCK, secretCommitment } from "./draw.ts";
import { partRange } from "./job-rules.ts";

/** As the API shows it. Hashes are 64 hex digits. */
export interface PublicDraw {
	readonly part: number;
	readonly attempt: number;
	readonly role: number;
	readonly list: readonly Candidate[];
	readonly listHash: string;
	/** Newest block when the list was published; null without a chain. */
	readonly afterBlock: number | null;
	readonly block: string | null;
	readonly drawn: readonly string[];
}

export interface PublicDraws {
	readonly id: string;
	/** Null until the job is over. */
	readonly secret: string | null;
	readonly perWindow: number;
	readonly draws: readonly PublicDraw[];
	readonly parts: readonly Pick<JobPart, "part" | "attempt" | "state" | "provider" | "audits" | "excluded">[];
}

/** What binds the validator, from elsewhere. */
export interface DrawBounds {
	/** In the offer that the customer has, signed; with a chain also in the terms that were funded. */
	readonly secretCommitment: string;
	readonly segments: number;
	readonly parts: number;
	readonly method: JobMethod;
	readonly isOnChain: boolean;
	/**
	 * Hashes by number, as the chain has them; null: nobody looked. A number that is not there: the chain has
	 * no such block.
	 */
	readonly blocks: ReadonlyMap<number, string> | null;
	/** What assignments on the chain name of their draws, by part; null: nobody looked. */
	readonly assigned: ReadonlyMap<number, readonly string[]> | null;
}

export interface DrawFinding {
	readonly part: number | null;
	readonly attempt: number | null;
	readonly what: "list" | "secret" | "block" | "drawn" | "provider" | "auditor" | "windows" | "assignment" | "missing";
	readonly why: string;
}

export interface DrawAudit {
	/** Draws that were done again, whole. */
	readonly redrawn: number;
	readonly changed: readonly DrawFinding[];
	/** What could not be looked at, or rests on the validator's word. */
	readonly notes: readonly string[];
}

const ROLES = ["provider", "auditors", "windows"];
/** As many as a draw keeps of its order. */
const MOST_DRAWN = 32;
const isHash = (hex: string | null): hex is string => hex !== null && hexToBytes(hex, 32) !== null;
const isProper = (list: readonly Candidate[]): boolean =>
	list.every(
		({ provider, weightPpm }, i) =>
			isHash(provider) && weightPpm >= 1 && weightPpm < 2 ** 31 && (i === 0 || list[i - 1]!.provider < provider),
	);

class Audit {
	readonly changed: DrawFinding[] = [];
	readonly notes = new Set<string>();
	redrawn = 0;
	private readonly of: PublicDraws;
	private readonly bounds: DrawBounds;

	constructor(of: PublicDraws, bounds: DrawBounds) {
		this.of = of;
		this.bounds = bounds;
	}

	private name(what: DrawFinding["what"], at: Pick<PublicDraw, "part" | "attempt"> | null, why: string): void {
		this.changed.push({ part: at?.part ?? null, attempt: at?.attempt ?? null, what, why });
	}

	/** The secret, if it is the one that was committed to. */
	secret(): string | null {
		const { secret } = this.of;
		if (secret === null) {
			this.notes.add("the job is not over: its secret is told when it is, and the choices can be drawn again then");
			return null;
		}
		if (isHash(secret) && secretCommitment(secret) === this.bounds.secretCommitment) return secret;
		this.name("secret", null, "it is not the one that the offer commits to");
		return null;
	}

	private isBlockRight(draw: PublicDraw): boolean {
		const { isOnChain, blocks } = this.bounds;
		if (!isOnChain) {
			if (draw.block !== NO_BLOCK) this.name("block", draw, "there is no chain, so it is 32 zeros");
			else this.notes.add("there is no chain: the secret alone stands, and its validator chose it");
			return draw.block === NO_BLOCK;
		}
		if (draw.afterBlock === null) {
			this.name("block", draw, "it says after which block its list was published");
			return false;
		}
		if (blocks === null) {
			this.notes.add("blocks were not compared with the chain: name a node with --rpc");
			return true;
		}
		if (blocks.get(draw.afterBlock + 1) === draw.block) return true;
		this.name("block", draw, `block ${draw.afterBlock + 1} has another hash`);
		return false;
	}

	/** The seed of a draw that is as it must be; null: it is not, or cannot be told. */
	seed(draw: PublicDraw, secret: string | null): Uint8Array | null {
		const { part, attempt, role, list } = draw;
		if (role !== 0 && role !== 1 && role !== 2) {
			this.name("drawn", draw, "there is no such draw");
			return null;
		}
		if (!isProper(list) || listHash(list) !== draw.listHash) {
			this.name("list", draw, `the list of the ${ROLES[role]} is not the one whose hash was published`);
			return null;
		}
		if (!isHash(draw.block)) {
			if (draw.block !== null) this.name("block", draw, "no hash");
			return null;
		}
		if (!this.isBlockRight(draw) || secret === null) return null;
		const seed = drawSeed({ job: this.of.id, part, attempt, role }, draw.listHash, secret, draw.block);
		const right = drawFrom(list, seed, Math.min(list.length, MOST_DRAWN));
		if (right.length !== draw.drawn.length || right.some((one, i) => one !== draw.drawn[i])) {
			this.name("drawn", draw, `the ${ROLES[role]} drawn are others`);
			return null;
		}
		this.redrawn += 1;
		return seed;
	}

	private drawOf(part: number, attempt: number, role: number): PublicDraw | undefined {
		return this.of.draws.find((one) => one.part === part && one.attempt === attempt && one.role === role);
	}

	/** Who has a part was drawn for it. */
	provider({ part, attempt, provider }: PublicDraws["parts"][number]): void {
		if (provider === null) return;
		const draw = this.drawOf(part, attempt, 0);
		const place = draw?.drawn.indexOf(provider) ?? 0;
		if (draw === undefined) this.name("missing", { part, attempt }, "somebody has the part, and nobody was drawn");
		else if (place < 0) this.name("provider", draw, "who has the part was not drawn");
		else if (place > 0)
			this.notes.add(`part ${part}: ${place} drawn before its provider were passed over as busy or away`);
	}

	auditors({ part, attempt, audits }: PublicDraws["parts"][number]): void {
		const asked = audits.flatMap(({ auditor, tried }) => [...(auditor === null ? [] : [auditor]), ...tried]);
		if (asked.length === 0) return;
		const draw = this.drawOf(part, attempt, 1);
		if (draw === undefined) this.name("missing", { part, attempt }, "somebody audits, and nobody was drawn");
		else
			for (const one of asked)
				if (!draw.drawn.includes(one)) this.name("auditor", draw, `${one.slice(0, 12)}… was not drawn`);
	}

	windows({ part, attempt, audits, state }: PublicDraws["parts"][number], seed: Uint8Array | null): void {
		const { method } = this.bounds;
		const { count } = partRange(this.bounds, part);
		const isWhole = (one: JobAudit) => one.first === 0 && one.count === count;
		// What is run again whole is more than any draw asks for.
		if (!methodOf(method).drawsWindows || audits.some(isWhole)) return;
		if (audits.length === 0) {
			if (state === "paid") this.notes.add(`part ${part} was paid without evidence, after its full window`);
			return;
		}
		if (this.drawOf(part, attempt, 2) === undefined)
			this.name("missing", { part, attempt }, "windows were run again, and none were drawn");
		if (seed === null) return;
		const told = (one: Pick<JobAudit, "first" | "count">) => `${one.first}+${one.count}`;
		const right = drawWindows(seed, count, this.of.perWindow, method.count).map(told);
		const said = audits.map(told);
		if (right.join() !== said.join())
			this.name("windows", { part, attempt }, `${said} were run again, ${right} were drawn`);
	}

	/** What was assigned on the chain names the draw that is shown now. */
	assignments(): void {
		const { assigned } = this.bounds;
		if (assigned === null) return;
		for (const [part, named] of assigned) {
			const shown = new Set(
				this.of.draws
					.filter((one) => one.part === part && one.role === 0)
					.map(({ attempt, list, listHash: hash, block, drawn }) =>
						drawHash({ for: { job: this.of.id, part, attempt, role: 0 }, list, listHash: hash, block, drawn }),
					),
			);
			for (const one of named)
				if (!shown.has(one))
					this.name("assignment", { part, attempt: 0 }, "the chain has an assignment by another draw");
		}
	}
}

export function auditDraws(of: PublicDraws, bounds: DrawBounds): DrawAudit {
	const audit = new Audit(of, bounds);
	const secret = audit.secret();
	const seeds = new Map<PublicDraw, Uint8Array | null>();
	for (const draw of of.draws) seeds.set(draw, audit.seed(draw, secret));
	for (const part of of.parts) {
		const ofWindows = [...seeds].find(
			([one]) => one.part === part.part && one.attempt === part.attempt && one.role === 2,
		);
		audit.provider(part);
		audit.auditors(part);
		audit.windows(part, ofWindows?.[1] ?? null);
	}
	audit.assignments();
	return { redrawn: audit.redrawn, changed: audit.changed, notes: [...audit.notes] };
}
