// The jobs of `assay provide`: what its owner allows, as options, and how a provider with a chain and an
// engine takes them. The work itself is src/provider/jobs/. Page for owners: docs/provider.md.
import { resolve } from "node:path";
import type { Contracts } from "../chain/contracts/contracts.ts";
import type { ChainAccount } from "../chain/sending/sign.ts";
import { realAfter } from "../platform/abortable.ts";
import { realEnvironment } from "../platform/environment.ts";
import { isEmbeddedChainId } from "../protocol/chain/embedded-chain-id.ts";
import { METHOD_NAMES, type MethodName } from "../protocol/network/job.ts";
import type { HostClaim } from "../protocol/probe/evidence.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import type { ProviderOptions } from "../provider/create-provider.ts";
import type { JobLimits } from "../provider/jobs/check-offer.ts";
import type { PowersFor } from "../provider/proofs/powers.ts";
import { orList } from "../verify/methods/methods.ts";
import type { CliIo } from "./command.ts";
import { flag, group, list, number, text, usageError, type Values, whole } from "./options.ts";
import { parseTokens } from "./print/tokens.ts";

const MICROS = 1_000_000;

export const jobOptions = group("jobs", {
	jobs: flag(
		"take parts of customers' jobs (docs/provider.md); on a chain, a bond is locked for each: see assay deposit",
	),
	"job-price": number("AMOUNT", "least that an hour of work must bring (default: --price)", [0, 1e9]),
	"job-least": number("AMOUNT", "least that a part must bring, whatever validators reckon", [0, 1e9], 0),
	"job-bond": number("AMOUNT", "largest bond for a part (default: no limit)", [0, 1e9]),
	"job-minutes": whole("N", "longest time limit of a part", [1, 10_080], 1440),
	"job-memory": number("GB", "memory of the device that a job may use (default: all of it)", [0.01, 1e6]),
	"job-disk": number("GB", "disk for inputs, states and results of the jobs of each device", [0.1, 1e6], 20),
	"job-method": list("METHOD", `take only jobs that are checked like this: ${orList(METHOD_NAMES)} (default: all)`),
	"job-gas": whole(
		"GAS",
		"gas of answers on chain in 24 hours (default: no limit; a question without an answer costs the bond)",
		[0, 1e12],
	),
	"job-prove": flag(
		"end disputes about claims that have a zk proof by that proof (docs/zk.md §15); it takes more gas than answers",
	),
	"job-device": list(
		"N",
		"a device that works, as assay devices numbers them; each takes parts of its own (default: every GPU, else every CPU)",
		{ pattern: /^\d{1,4}$/, is: "the number of a device" },
	),
	powers: text("FILE", "powers of tau for zk jobs, Ignition's file (docs/zk.md §1; or ASSAY_POWERS)", {
		env: "ASSAY_POWERS",
	}),
	"job-deposit": text("TOKENS", "at the start, fill up the deposit that bonds are locked from to so much"),
});
type JobValues = Values<typeof jobOptions>;

interface JobHome {
	readonly folder: string;
	readonly signer: Signer;
	readonly engine: ProviderOptions["engine"];
	readonly pricePerHourMicros: number;
	readonly memoryBytes: number;
	readonly chain: { readonly contracts: Contracts; readonly account: ChainAccount; readonly url: string } | null;
	readonly onEvent: ProviderOptions["onEvent"];
}

/** Those that work: what the owner names, else every GPU, else every CPU. */
export function devicesOf(wanted: readonly string[] | undefined, { devices }: Pick<HostClaim, "devices">): number[] {
	const kinds = devices.map(({ kind }) => kind);
	const best = kinds.includes("gpu") ? "gpu" : "cpu";
	const chosen = wanted?.map(Number) ?? kinds.flatMap((kind, i) => (kind === best ? [i] : []));
	const wrong = chosen.find((device) => kinds[device] !== "gpu" && kinds[device] !== "cpu");
	if (wrong !== undefined || chosen.length === 0)
		throw usageError(
			`--job-device ${wrong ?? ""}: this machine has ${kinds.map((kind, i) => `${i} ${kind}`).join(", ")}`,
		);
	return [...new Set(chosen)].sort((a, b) => a - b);
}

function limitsOf(
	values: JobValues,
	home: JobHome,
	{ devices, host }: HostClaim,
	working: readonly number[],
): JobLimits {
	const methods = values["job-method"] ?? METHOD_NAMES;
	const wrong = methods.find((one) => !METHOD_NAMES.includes(one as MethodName));
	if (wrong !== undefined) throw usageError(`--job-method takes ${METHOD_NAMES.join(", ")}, not '${wrong}'`);
	const gigabytes = (given: number) => Math.floor(given * 1e9);
	const [price, bond, memory] = [values["job-price"], values["job-bond"], values["job-memory"]];
	const answerGas = values["job-gas"];
	return {
		// What each of them has it proves; here is only what its owner keeps back.
		memoryBytes:
			memory === undefined
				? Math.max(...working.map((device) => devices[device]!.memoryBytes || host.ramBytes))
				: gigabytes(memory),
		diskBytes: gigabytes(values["job-disk"]),
		minutes: values["job-minutes"],
		pricePerHourMicros: price === undefined ? home.pricePerHourMicros : Math.round(price * MICROS),
		leastMicros: Math.round(values["job-least"] * MICROS),
		mostBondMicros: bond === undefined ? Number.MAX_SAFE_INTEGER : Math.round(bond * MICROS),
		methods: methods as JobLimits["methods"],
		...(answerGas !== undefined && { answerGas }),
		provesDisputes: values["job-prove"],
	};
}

/** Null: it takes none. Its code is loaded only where it is wanted. */
export function providerJobs(values: JobValues, io: CliIo, home: JobHome): NonNullable<ProviderOptions["jobs"]> | null {
	if (!values.jobs) return null;
	const deposit = values["job-deposit"] === undefined ? null : parseTokens(values["job-deposit"]);
	if (deposit !== null && home.chain === null) throw usageError("--job-deposit needs a chain: --rpc and --contracts");
	return async ({ claim, hold }) => {
		const { clockUs, nowMs, randomBytes } = realEnvironment();
		const { folder, signer, engine, memoryBytes, onEvent } = home;
		const devices = devicesOf(values["job-device"], claim);
		const limits = limitsOf(values, home, claim, devices);
		const { openHostJobs } = await import("../provider/jobs/host-jobs.ts");
		const { jobEngines } = await import("../provider/jobs/job-engine.ts");
		const { openJobDesk } = await import("../provider/jobs/job-desk.ts");
		return openHostJobs({
			...{
				dataFolder: folder,
				devices,
				limits,
				hold,
				nowMs,
				onEvent,
				after: realAfter,
				chain: await chainOf(home, deposit),
			},
			...(await powersOfHome(values.powers, home, io)),
			startEngine: jobEngines({ engine, env: io.env, devices: claim.devices, memoryBytes, clockUs, randomBytes }),
			deskOf: (url, validatorKey) => openJobDesk({ url, validatorKey, signer, nowMs, randomBytes }),
		});
	};
}

/** Of a chain without a file of powers it takes no zk jobs. */
async function powersOfHome(
	given: string | undefined,
	{ chain }: JobHome,
	io: CliIo,
): Promise<{ powersFor?: PowersFor }> {
	const chainId = chain?.contracts.addresses.chainId;
	if (chainId === undefined || (given === undefined && !isEmbeddedChainId(chainId))) return {};
	const { powersOf } = await import("../provider/proofs/powers.ts");
	return { powersFor: powersOf(chainId, given === undefined ? null : resolve(io.cwd, given)) };
}

/** A deposit that cannot be filled up is told of; the provider goes on with what it has. */
async function chainOf({ chain, signer, onEvent }: JobHome, deposit: bigint | null) {
	if (chain === null) return null;
	const { openJobChain } = await import("../provider/jobs/open-job-chain.ts");
	if (deposit !== null) {
		const { fillJobDeposit } = await import("./chain/job-deposit.ts");
		const { errorToEvent } = await import("../provider/provider-event.ts");
		await fillJobDeposit(chain, deposit).catch((error) =>
			onEvent({ kind: "trouble", ...errorToEvent(error, "CHAIN_REFUSED") }),
		);
	}
	return openJobChain(chain.contracts, chain.account, signer.key);
}
