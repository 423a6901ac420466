// The facts of a network for checker.ts, from its chain and its tables, past everything that fails.
import { jobEscrowAbi } from "../../src/chain/abi/job-escrow-abi.ts";
import { type Contracts, read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { jobCost } from "../../src/chain/contracts/job-escrow.ts";
import type { JobRecord } from "../../src/protocol/network/job.ts";
import type { EscrowEvent, Facts, JobFacts } from "./checker.ts";
import type { FaultNetwork } from "./fault-network.ts";

const isAbout = (event: EscrowEvent | null): event is EscrowEvent => event !== null;

async function escrowEvents({ client, addresses }: Contracts): Promise<EscrowEvent[]> {
	const where = { address: addresses.jobEscrow, abi: jobEscrowAbi, fromBlock: 0n, strict: true } as const;
	const logs = await client.viem.getContractEvents(where);
	return logs
		.map(({ eventName, args }): EscrowEvent | null => {
			if (!("job" in args)) return null;
			const job = args.job.toString(16).padStart(64, "0");
			const spent = (amount: bigint) => ({ kind: "Spent", job, amount }) as const;
			if (eventName === "Funded") return { kind: "Funded", job, parts: args.terms.parts, cost: jobCost(args.terms) };
			if (eventName === "Cancelled") return { kind: "Cancelled", job, from: args.end, amount: args.refund };
			if (eventName === "Settled")
				return { kind: "Settled", job, part: args.part, provider: args.provider.toLowerCase(), amount: args.pay };
			if (eventName === "Refunded") return { kind: "Refunded", job, part: args.part, amount: args.amount };
			if (eventName === "Convicted")
				return { kind: "Convicted", job, part: args.part, provider: args.provider.toLowerCase() };
			if (eventName === "Checked") return spent(args.toAuditors);
			if (eventName === "ProverPaid") return spent(args.pay);
			return eventName === "Shared" ? spent(args.fees + args.unspent) : null;
		})
		.filter(isAbout);
}

async function jobsOf({ sql }: Pick<FaultNetwork, "sql">): Promise<JobFacts[]> {
	const { rows } = await sql.query<{ id: string; record: JobRecord; is_over: boolean }>(
		"SELECT id, record, is_over FROM jobs",
	);
	const { rows: outcomes } = await sql.query("SELECT job, part, outcome, provider FROM job_outcomes ORDER BY serial");
	return rows.map(({ id, record, is_over: isOver }) => ({
		...{ id, isOver, parts: record.parts.map(({ state, provider }) => ({ state, provider })) },
		outcomes: outcomes.filter(({ job }) => job === id),
	}));
}

export async function gatherFacts(network: FaultNetwork, payments: Facts["payments"]): Promise<Facts> {
	const { contracts, sql, hosts, payer, account } = network;
	const moved = await readEvents(contracts, "token", "Transfer", {}, 0);
	const transfers = moved.map(({ args: { from, to, value } }) => ({
		...{ from: from.toLowerCase(), to: to.toLowerCase(), value },
	}));
	const escrowAccount = contracts.addresses.jobEscrow.toLowerCase();
	const everybody = [...new Set(transfers.map(({ to }) => to)), payer.address.toLowerCase()];
	const collected = async <T>(view: (address: `0x${string}`) => Promise<T>, of: readonly string[] = everybody) =>
		Object.fromEntries(await Promise.all(of.map(async (one) => [one, await view(one as `0x${string}`)] as const)));
	const accounts = Object.fromEntries(hosts.map((host) => [host.id, host.account.address.toLowerCase()]));
	const { rows: probes } = await sql.query(
		`SELECT p.id, evidence_sha256 AS evidence, count(j.seq)::integer AS "inJournal" FROM probes p
		LEFT JOIN journal j ON j.kind = 'probe.done' AND j.detail::jsonb ->> 'probe' = p.id
		WHERE p.state = 'done' GROUP BY p.id, evidence_sha256`,
	);
	const parties = [...Object.values(accounts), payer.address.toLowerCase(), account.address.toLowerCase()];
	return {
		...{ transfers, escrowAccount, accounts, liars: [], payments, probes },
		escrow: await escrowEvents(contracts),
		balances: await collected((address) => read(contracts, "token", "balanceOf", address)),
		deposits: await collected((address) => read(contracts, "jobEscrow", "depositOf", address), parties),
		owed: await collected((address) => read(contracts, "jobEscrow", "owedTo", address), parties),
		jobs: await jobsOf(network),
	};
}
