// What must hold when the faults are over and everything has come to its end: pure, over facts that
// gather-facts.ts reads from the chain and the tables. Each broken rule is a line.

/** As a chain's event log has it; amounts in the token's smallest unit, accounts in lower case. */
export type EscrowEvent = { readonly job: string } & (
	| { readonly kind: "Funded"; readonly parts: number; readonly cost: bigint }
	| { readonly kind: "Cancelled"; readonly from: number; readonly amount: bigint }
	| { readonly kind: "Settled"; readonly part: number; readonly provider: string; readonly amount: bigint }
	| { readonly kind: "Refunded"; readonly part: number; readonly amount: bigint }
	| { readonly kind: "Convicted"; readonly part: number; readonly provider: string }
	/** To auditors, provers, and what was shared: it left the job and is owed to somebody. */
	| { readonly kind: "Spent"; readonly amount: bigint }
);

interface Deposit {
	readonly free: bigint;
	readonly locked: bigint;
	readonly leaving: bigint;
}

export interface JobFacts {
	readonly id: string;
	readonly isOver: boolean;
	readonly parts: readonly { readonly state: string; readonly provider: string | null }[];
	/** The public rows: what became of attempts. */
	readonly outcomes: readonly { readonly part: number; readonly outcome: string; readonly provider: string }[];
}

export interface Facts {
	readonly escrow: readonly EscrowEvent[];
	/** Of the token, all of them. */
	readonly transfers: readonly { readonly from: string; readonly to: string; readonly value: bigint }[];
	/** What the token says that each of them has. */
	readonly balances: Readonly<Record<string, bigint>>;
	readonly escrowAccount: string;
	readonly deposits: Readonly<Record<string, Deposit>>;
	/** Sums of what the escrow owes, by account. */
	readonly owed: Readonly<Record<string, bigint>>;
	readonly jobs: readonly JobFacts[];
	/** Keys of providers and their accounts. */
	readonly accounts: Readonly<Record<string, string>>;
	/** Keys of those who lied. */
	readonly liars: readonly string[];
	/** Times that a finished probe stands in the rows, and in the journal; by its number. */
	readonly probes: readonly { readonly id: string; readonly evidence: string | null; readonly inJournal: number }[];
	/** Each to an account of its own. `unknown`: its sender was told so, with the hash. */
	readonly payments: readonly {
		readonly to: string;
		readonly value: bigint;
		readonly outcome: "done" | "unknown" | "refused";
	}[];
}

type Rule = (facts: Facts) => string[];
const short = (text: string): string => text.slice(0, 10);
const sum = (all: Iterable<bigint>): bigint => [...all].reduce((a, b) => a + b, 0n);

/** What became of each part on the chain, in order. */
function endsOf({ escrow }: Facts, job: string): string[][] {
	const ends: string[][] = [];
	for (const event of escrow) {
		if (event.job !== job) continue;
		if (event.kind === "Funded") for (let i = 0; i < event.parts; i++) ends.push([]);
		if (event.kind === "Settled") ends[event.part]?.push("paid");
		if (event.kind === "Refunded") ends[event.part]?.push("refunded");
		if (event.kind === "Cancelled") for (const end of ends.slice(event.from)) end.push("refunded");
	}
	return ends;
}
const fundedIn = ({ escrow }: Facts): string[] => [
	...new Set(escrow.flatMap(({ kind, job }) => (kind === "Funded" ? [job] : []))),
];

const paidOrRefundedOnce: Rule = (facts) =>
	fundedIn(facts).flatMap((job) =>
		endsOf(facts, job).flatMap((ends, part) =>
			ends.length === 1 ? [] : [`job ${short(job)} part ${part}: on chain ${ends.join(" and ") || "never at an end"}`],
		),
	);

const recordIsTheChains: Rule = (facts) =>
	facts.jobs.flatMap(({ id, isOver, parts, outcomes }) => {
		const wrong: string[] = isOver ? [] : [`job ${short(id)} is not over`];
		const ends = endsOf(facts, id);
		for (const [part, { state }] of parts.entries()) {
			const [end = "nothing"] = ends[part] ?? [];
			if (state !== end) wrong.push(`job ${short(id)} part ${part} is ${state} in the record, ${end} on chain`);
			const paid = outcomes.filter((one) => one.part === part && one.outcome === "paid").length;
			if (paid !== Number(end === "paid"))
				wrong.push(`job ${short(id)} part ${part}: ${paid} payments in the public rows, ${end} on chain`);
		}
		return wrong;
	});

const probesCountedOnce: Rule = ({ probes }) => {
	const times = Map.groupBy(
		probes.filter(({ evidence }) => evidence !== null),
		({ evidence }) => evidence,
	);
	const twice = [...times].filter(([, all]) => all.length > 1);
	return [
		...twice.map(([evidence, all]) => `evidence ${short(evidence!)} is counted ${all.length} times`),
		...probes
			.filter(({ inJournal }) => inJournal !== 1)
			.map(({ id, inJournal }) => `probe ${short(id)} stands ${inJournal} times in the journal`),
	];
};

const balancesAreTheEvents: Rule = ({ transfers, balances }) =>
	Object.entries(balances).flatMap(([account, balance]) => {
		const moved = sum(
			transfers.map(({ from, to, value }) => (to === account ? value : 0n) - (from === account ? value : 0n)),
		);
		return moved === balance ? [] : [`${short(account)} has ${balance}, by the events ${moved}`];
	});

const paidWhatWasSent: Rule = ({ payments, transfers }) =>
	payments.flatMap(({ to, value, outcome }) => {
		const times = transfers.filter((one) => one.to === to).length;
		const right = { done: times === 1, unknown: times <= 1, refused: times === 0 }[outcome];
		return right ? [] : [`${value} to ${short(to)}, said to be ${outcome}, arrived ${times} times`];
	});

const nobodyHonestIsConvicted: Rule = ({ escrow, jobs, liars, accounts }) => {
	const lying = new Set(liars.flatMap((key) => [key, accounts[key] ?? key]));
	const onChain = escrow.flatMap((event) => (event.kind === "Convicted" ? [event] : []));
	return [
		...onChain
			.filter(({ provider }) => !lying.has(provider))
			.map(({ job, provider }) => `${short(provider)} is convicted on chain in job ${short(job)}, and did not lie`),
		...jobs.flatMap(({ id, outcomes }) =>
			outcomes
				.filter(({ outcome, provider }) => outcome === "convicted" && !lying.has(provider))
				.map(({ provider }) => `${short(provider)} is convicted in the rows in job ${short(id)}, and did not lie`),
		),
	];
};

const noBondIsLocked: Rule = ({ deposits }) =>
	Object.entries(deposits)
		.filter(([, { locked }]) => locked !== 0n)
		.map(([account, { locked }]) => `a bond of ${locked} of ${short(account)} is locked for ever`);

/** What a job still holds of what its customer put in. */
function heldBy({ escrow }: Facts, job: string): bigint {
	return sum(
		escrow.map((event) => {
			if (event.job !== job || event.kind === "Convicted") return 0n;
			return event.kind === "Funded" ? event.cost : -event.amount;
		}),
	);
}

const noMoneyOutOfReach: Rule = (facts) => {
	const { balances, deposits, owed, escrowAccount } = facts;
	const held = fundedIn(facts).map((job) => ({ job, amount: heldBy(facts, job) }));
	const known = new Set(facts.jobs.map(({ id }) => id));
	const owes = sum([
		...Object.values(deposits).map(({ free, locked, leaving }) => free + locked + leaving),
		...Object.values(owed),
		...held.map(({ amount }) => amount),
	]);
	const has = balances[escrowAccount] ?? 0n;
	return [
		...held
			.filter(({ amount }) => amount !== 0n)
			.map(({ job, amount }) => {
				const where = known.has(job) ? "a job that the validator knows" : "a job that nobody handed in";
				return `${amount} lie in ${where}, ${short(job)}, out of reach`;
			}),
		...(has === owes ? [] : [`the escrow has ${has}, and owes ${owes}`]),
	];
};

const RULES: readonly Rule[] = [
	...[paidOrRefundedOnce, recordIsTheChains, probesCountedOnce, balancesAreTheEvents, paidWhatWasSent],
	...[nobodyHonestIsConvicted, noBondIsLocked, noMoneyOutOfReach],
];

export const wrongIn: Rule = (facts) => RULES.flatMap((rule) => rule(facts));
