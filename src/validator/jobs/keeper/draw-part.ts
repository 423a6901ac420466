// Draws of a job, docs/jobs.md §10: the list is published with its hash first; the block comes later; then
// who is drawn follows. Each step is in the store before the next, so that a restart goes on with the list
// that was published, and cannot choose another.
import { type Candidate, type DrawFor, drawFrom, drawSeed, listHash, NO_BLOCK } from "../../../market/jobs/draw.ts";
import type { Told } from "../../../market/jobs/transitions.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import type { JobDraw } from "../../../store/jobs/job-rows.ts";
import { asJson, type ChangeContext, changeJob, type Job, type JobContext } from "./job-context.ts";
import { isAtWork, type KnownHost } from "./job-hosts.ts";
import { secretOfJob } from "./job-offers.ts";

/** As it is kept: everything but the secret. */
export interface DrawBody {
	readonly atMs: number;
	readonly list: readonly Candidate[];
	/** Newest block when the list was published; null without a chain. */
	readonly afterBlock: number | null;
	readonly block: string | null;
	readonly drawn: readonly string[];
	/** Accounts of those on the list, as they were then. */
	readonly accounts: Readonly<Record<string, Hex>>;
	/**
	 * What those on the list were then. ATTACK: who hangs up afterwards would have no owner, no network and no
	 * speed, and so be audited by its own host, or not at all.
	 */
	readonly hosts: Readonly<Record<string, DrawnHost>>;
}

type DrawnDevice = Pick<KnownHost, "device" | "int8OpsPerS" | "bytesPerS">;

/** A host as it stood on the list. */
export interface DrawnHost extends Pick<KnownHost, "owner" | "network"> {
	/** Parts of it that were checked in a row. */
	readonly checkedInARow: number;
	/** Those that fit, the fastest first: whoever is given something is given it for one of these. */
	readonly devices: readonly DrawnDevice[];
}
/** A host that may be drawn, with those of its devices that fit. */
export interface ListedHost extends Candidate, Pick<KnownHost, "account" | "reputation" | "owner" | "network"> {
	readonly devices: readonly DrawnDevice[];
}

const drawnHostOf = ({ owner, network, reputation, devices }: ListedHost): DrawnHost => ({
	...{ owner, network, checkedInARow: reputation.checkedInARow },
	devices: devices.map(({ device, int8OpsPerS, bytesPerS }) => ({ device, int8OpsPerS, bytesPerS })),
});

/** The device of a drawn host that something is given to: the fastest that is idle; null: all are at work. */
export function idleDevice(
	atWork: ReadonlyMap<string, ReadonlySet<number>>,
	provider: string,
	{ devices }: Pick<DrawnHost, "devices">,
): number | null {
	return devices.find(({ device }) => !isAtWork(atWork, provider, device))?.device ?? null;
}

/** Lists may be long: `whole` has one, others do without. */
type WithoutList = Omit<DrawBody, "list">;

export interface Drawn extends WithoutList {
	readonly seed: Uint8Array;
	readonly listHash: string;
	readonly block: string;
}

/** Far more than are asked; each costs a look at the whole list. */
const MOST_DRAWN = 32;
/** Names in an event; the row has all. */
const MOST_TOLD = 10;
const tell = ({ part, attempt, role }: Place, kind: string, detail: object): Told => ({
	...{ kind, part, detail: { attempt, role, ...detail } },
});

type Place = Pick<DrawFor, "part" | "attempt" | "role">;

/** Without its list once somebody is drawn. */
const findDraw = (store: JobContext["store"], job: string, place: Place): Promise<JobDraw | null> =>
	store.jobs.draw(job, place, { withList: false });

/** The list of a draw. */
export async function listOf(
	{ store }: Pick<JobContext, "store">,
	job: string,
	place: Place,
): Promise<readonly Candidate[]> {
	const row = await store.jobs.draw(job, place);
	return (row?.body as unknown as DrawBody | undefined)?.list ?? [];
}

const seedOf = (signer: JobContext["signer"], job: Job, place: Place, hash: string, block: string): Uint8Array =>
	drawSeed({ ...place, job: job.id }, hash, secretOfJob(signer, job), block);

/** What reading a draw takes. */
export type DrawSource = Pick<JobContext, "store" | "signer">;

/** A draw that was finished before. */
export async function knownDraw({ store, signer }: DrawSource, job: Job, place: Place): Promise<Drawn | null> {
	const row = await findDraw(store, job.id, place);
	const body = row?.body as unknown as WithoutList | undefined;
	if (row === null || body === undefined || body.block === null) return null;
	const { block } = body;
	return { ...body, block, listHash: row.listHash, seed: seedOf(signer, job, place, row.listHash, block) };
}

/** Of whom the part was given to: null before anybody had it. */
async function ownDraw(source: DrawSource, job: Job, { part, provider, attempt }: JobPart): Promise<Drawn | null> {
	return provider === null || attempt === 0 ? null : knownDraw(source, job, { part, attempt, role: 0 });
}

/** The account that was drawn for a part's attempt, as the draw had it. */
export const drawnAccount = async (source: DrawSource, job: Job, part: JobPart): Promise<Hex | null> =>
	(await ownDraw(source, job, part))?.accounts[part.provider!] ?? null;

/**
 * Its provider as it was when it was drawn, with the speed of the device that has the part. Where nobody
 * knows which that is, it counts as the fastest.
 */
export async function drawnHost(
	source: DrawSource,
	job: Job,
	part: JobPart,
): Promise<(DrawnHost & Omit<DrawnDevice, "device">) | null> {
	const host = (await ownDraw(source, job, part))?.hosts[part.provider!];
	if (host === undefined) return null;
	const { int8OpsPerS, bytesPerS } = host.devices.find(({ device }) => device === part.device) ?? host.devices[0]!;
	return { ...host, int8OpsPerS, bytesPerS };
}

/** Who is drawn, from a list that was published. */
function drawOf(seed: Uint8Array, place: Place, body: DrawBody, block: string) {
	const drawn = drawFrom(body.list, seed, Math.min(body.list.length, MOST_DRAWN));
	// Of the others nobody needs them any more.
	const ofDrawn = <T>(all: Readonly<Record<string, T>>) =>
		Object.fromEntries(drawn.flatMap((one) => (all[one] === undefined ? [] : [[one, all[one]]])));
	const [accounts, hosts] = [ofDrawn(body.accounts), ofDrawn(body.hosts)];
	const told = tell(place, "drawn", { block, drawn: drawn.slice(0, MOST_TOLD) });
	return { done: { block, drawn, accounts, hosts }, told };
}

/**
 * Goes on with this draw: everyone on the list, in the order in which they are drawn. Null: the block or the
 * hosts are not there yet, or the job was changed: look again. `list` is asked once, for the publication; an
 * empty one of role 0 or 1 publishes nothing.
 */
export async function goOnDrawing(
	context: DrawSource & ChangeContext & Pick<JobContext, "jobChain" | "hosts">,
	job: Job,
	place: Place,
	list: () => Promise<readonly ListedHost[]>,
): Promise<Drawn | "nobody" | null> {
	const { jobChain, env, signer } = context;
	const seed = (hash: string, block: string) => seedOf(signer, job, place, hash, block);
	const known = await findDraw(context.store, job.id, place);
	if (known === null) {
		if (place.role !== 2 && (await context.hosts.areGathering())) return null;
		const hosts = [...(await list())].sort((a, b) => (a.provider < b.provider ? -1 : 1));
		if (hosts.length === 0 && place.role !== 2) return "nobody";
		const listed = hosts.map(({ provider, weightPpm }) => ({ provider, weightPpm }));
		const hash = listHash(listed);
		const told = tell(place, "listed", { listHash: hash, hosts: listed.length });
		const body: DrawBody = {
			...{ atMs: env.nowMs(), list: listed, block: null, drawn: [] },
			afterBlock: jobChain === null ? null : await jobChain.newestBlock(),
			accounts: Object.fromEntries(
				hosts.flatMap(({ provider, account }) => (account === null ? [] : [[provider, account]])),
			),
			hosts: Object.fromEntries(hosts.map((host) => [host.provider, drawnHostOf(host)])),
		};
		// Without a chain nothing comes between the list and the draw.
		const drawing = jobChain === null ? drawOf(seed(hash, NO_BLOCK), place, body, NO_BLOCK) : null;
		const draws = [{ ...place, turn: 0, listHash: hash, body: asJson({ ...body, ...drawing?.done }) }];
		const events = [told, ...(drawing === null ? [] : [drawing.told])];
		await changeJob(context, job, { record: job.record, events }, { draws });
		return null;
	}
	const body = known.body as unknown as DrawBody;
	if (body.block !== null)
		return { ...body, block: body.block, listHash: known.listHash, seed: seed(known.listHash, body.block) };
	const block =
		body.afterBlock === null || jobChain === null ? NO_BLOCK : await jobChain.blockHash(body.afterBlock + 1);
	if (block === null) return null;
	const { done, told } = drawOf(seed(known.listHash, block), place, body, block);
	const draws = [{ ...place, turn: 0, listHash: known.listHash, body: asJson(done) }];
	// Whoever goes on reads the job again: its version is another now.
	await changeJob(context, job, { record: job.record, events: [told] }, { draws });
	return null;
}
