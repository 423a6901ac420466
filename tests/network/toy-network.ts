// A whole network on this machine, as processes: validators (real, with the toys' plan), processes full of
// simulated providers, PostgreSQL. For the simulation, the crash test and the benches; each says how many of
// what, and looks at the tables itself.
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { AgentBounds } from "../../src/engine/agent/agent-bounds.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { debianBinaries } from "../../src/store/postgres/postgres-binaries.ts";
import { urlOf } from "../../src/store/postgres/servers.test-kit.ts";
import type { ValidatorSettings } from "../../src/validator/validator-config.ts";
import { type ChildProgram, startChild, type Usage } from "./child-program.ts";
import type { ProvidersStatus, StartProviders } from "./provider-process.ts";
import type { SimulatedKind } from "./simulated-kinds.ts";
import { simulatedSigner } from "./simulated-provider.ts";
import type { StartedValidator, StartValidator } from "./validator-process.ts";

interface RunningValidatorProcess extends StartedValidator {
	readonly child: ChildProgram;
}

export interface ToyNetwork {
	readonly dataDir: string;
	/** Beside the network, for whoever looks at the tables; the network's schema is on its path. */
	readonly sql: pg.Client;
	startValidator(over?: ValidatorOver): Promise<RunningValidatorProcess>;
	/** The same, with a process that can be killed before it is ready. */
	beginValidator(over?: ValidatorOver): { readonly child: ChildProgram; readonly started: Promise<StartedValidator> };
	/**
	 * Spreads them over `processes`, and one more for those out of turn; settles when each has dialled in once.
	 */
	startProviders(o: {
		readonly urls: readonly string[];
		readonly kinds: readonly SimulatedKind[];
		readonly processes: number;
		/** Number of the first. */
		readonly from?: number;
		readonly bounds?: Partial<AgentBounds>;
	}): Promise<readonly ChildProgram[]>;
	/** Ends every process and the server, and removes the folder. */
	close(): Promise<void>;
}

export interface ValidatorOver extends Partial<Omit<ValidatorSettings, "params" | "probe">> {
	readonly params?: Readonly<Record<string, unknown>>;
	readonly probe?: ValidatorSettings["probe"];
	readonly log?: StartValidator["log"];
	/** Default `network`. */
	readonly plan?: StartValidator["plan"];
}

/** Long enough for honest toys on a busy machine, short for those who never answer. */
const TOY_DEADLINES = { readyMs: 12_000, helloMs: 12_000, pingMs: 12_000, openMs: 12_000, releaseMs: 12_000 };

const LIMITS = { readsPerS: 10_000, writesPerS: 10_000, connectionsPerAddress: 100_000 };
/** Many agents come from one address here, and an engine may have to wait for its process's turn. */
const DOOR = {
	...{ perAddress: 100_000, knocksPerS: 100_000, knocksAtOnce: 100_000, unproven: 100_000 },
	newcomers: { perAddress: 100_000, inAll: 100_000 },
	bounds: { openMs: 300_000 },
};

export async function openToyNetwork(o: { readonly external?: boolean } = {}): Promise<ToyNetwork> {
	const dataDir = mkdtempSync(join(tmpdir(), "assay-network-"));
	const folder = o.external ? join(dataDir, "external") : serverFolder(dataDir);
	const binaries = o.external ? await debianBinaries() : null;
	if (o.external && !binaries) throw new Error("needs Debian's PostgreSQL: apt-get install postgresql");
	const programs = binaries === null ? {} : { binaries };
	// As a real one: figures are measured on it too.
	await copyCluster(folder, { durable: true, ...programs });
	const address = await ensureEmbeddedServer({ folder, ...programs });
	const sql = new pg.Client({ ...address, options: "-c search_path=assay,public", application_name: "watcher" });
	await sql.connect();
	const children = new Set<ChildProgram>();
	const start = (file: string) => {
		const child = startChild(file);
		children.add(child);
		void child.ended.then(() => children.delete(child));
		return child;
	};
	const network: ToyNetwork = {
		dataDir,
		sql,
		async startValidator(over) {
			const { child, started } = network.beginValidator(over);
			return { ...(await started), child };
		},
		beginValidator({ log, plan = "network", params, probe, ...over } = {}) {
			const child = start("./validator-process.ts");
			const started = child.ask<StartedValidator>("start", {
				settings: {
					dataDir,
					...(o.external && { databaseUrl: urlOf(address) }),
					listen: { port: 0 },
					verifierThreads: 1,
					dispatchEveryMs: 200,
					// Hosts that share a process answer one after the other; more at once would only wait there.
					waiting: 16,
					...over,
					probe: { deadlines: TOY_DEADLINES, totalMs: 240_000, ...probe },
					params: { intervalMs: 3_600_000, jitterMs: 60_000, retryFirstMs: 500, retries: 1, ...params },
					api: { limits: LIMITS, ...over.api },
				},
				door: DOOR,
				plan,
				...(log && { log }),
			} satisfies StartValidator);
			return { child, started };
		},
		async startProviders({ urls, kinds, processes, from = 0, bounds }) {
			const all = kinds.map(({ name }, i) => ({ number: from + i, kind: name }));
			// One more process for those who flood, recompute or take their time: they would be their neighbours'
			// lateness.
			const calm = all.filter((_, i) => !kinds[i]!.outOfTurn);
			const restless = all.filter((_, i) => kinds[i]!.outOfTurn);
			const groups = [
				// Whole rounds of `urls`, so that every process has providers at every validator.
				...Array.from({ length: processes }, (_, p) =>
					calm.filter((_, i) => Math.floor(i / urls.length) % processes === p),
				),
				restless,
			].filter((group) => group.length > 0);
			const started = groups.map(() => start("./provider-process.ts"));
			await Promise.all(
				started.map((child, p) => {
					const providers = groups[p]!;
					return child.ask("start", { urls, providers, ...(bounds && { bounds }) } satisfies StartProviders);
				}),
			);
			const dialled = async () =>
				(await Promise.all(started.map((child) => child.ask<ProvidersStatus>("status")))).reduce(
					(sum, status) => sum + status.dialled,
					0,
				);
			while ((await dialled()) < all.length) await new Promise((resolve) => setTimeout(resolve, 100));
			return started;
		},
		async close() {
			await sql.end().catch(() => {});
			for (const child of children) child.kill("SIGKILL");
			await Promise.all([...children].map((child) => child.ended));
			await stopEmbeddedServer(folder);
			await rm(dataDir, { recursive: true, force: true });
		},
	};
	return network;
}

export async function usageOf(children: readonly ChildProgram[]): Promise<Usage> {
	const all = await Promise.all(children.map((child) => child.ask<Usage>("usage")));
	return all.reduce((a, b) => ({ cpuS: a.cpuS + b.cpuS, rssBytes: a.rssBytes + b.rssBytes }), {
		cpuS: 0,
		rssBytes: 0,
	});
}

/** Provider id → what it is. */
export function kindsById(kinds: readonly SimulatedKind[], from = 0): ReadonlyMap<string, SimulatedKind> {
	return new Map(kinds.map((kind, i) => [simulatedSigner(from + i).key, kind]));
}
