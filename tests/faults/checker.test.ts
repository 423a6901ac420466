// The checker finds what it is there for: facts of a network in which all went well, and in each case one
// thing that did not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type EscrowEvent, type Facts, wrongIn } from "./checker.ts";

const [JOB, GIVEN_UP] = ["a1".repeat(32), "b2".repeat(32)];
const [ESCROW, PAYER, HOST, SHOP, MINT] = ["0xe5", "0xc1", "0xb0", "0x5f", "0x00"];
const KEY = "d4".repeat(32);

const escrow: readonly EscrowEvent[] = [
	{ kind: "Funded", job: JOB, parts: 2, cost: 24n },
	{ kind: "Settled", job: JOB, part: 0, provider: HOST, amount: 10n },
	{ kind: "Refunded", job: JOB, part: 1, amount: 12n },
	{ kind: "Spent", job: JOB, amount: 2n },
	{ kind: "Funded", job: GIVEN_UP, parts: 1, cost: 12n },
	{ kind: "Cancelled", job: GIVEN_UP, from: 0, amount: 12n },
];
const GOOD: Facts = {
	...{ escrow, escrowAccount: ESCROW, liars: [], accounts: { [KEY]: HOST } },
	transfers: [
		{ from: MINT, to: PAYER, value: 100n },
		{ from: MINT, to: HOST, value: 50n },
		{ from: PAYER, to: ESCROW, value: 36n },
		{ from: HOST, to: ESCROW, value: 50n },
		{ from: PAYER, to: SHOP, value: 7n },
	],
	balances: { [PAYER]: 57n, [HOST]: 0n, [ESCROW]: 86n, [SHOP]: 7n },
	deposits: { [HOST]: { free: 50n, locked: 0n, leaving: 0n } },
	owed: { [HOST]: 10n, [PAYER]: 26n },
	jobs: [
		{
			...{ id: JOB, isOver: true },
			parts: [
				{ state: "paid", provider: KEY },
				{ state: "refunded", provider: null },
			],
			outcomes: [{ part: 0, outcome: "paid", provider: KEY }],
		},
	],
	probes: [{ id: "p1", evidence: "e1", inJournal: 1 }],
	payments: [{ to: SHOP, value: 7n, outcome: "done" }],
};

test("a network in which all went well breaks no rule", () => {
	assert.deepEqual(wrongIn(GOOD), []);
	const honest = [{ part: 0, outcome: "paid", provider: KEY }];
	const [job] = GOOD.jobs;
	const fell: EscrowEvent = { kind: "Convicted", job: JOB, part: 0, provider: HOST };
	const lied = [{ part: 0, outcome: "convicted", provider: KEY }, ...honest];
	const liar = { ...GOOD, escrow: [...escrow, fell], jobs: [{ ...job!, outcomes: lied }], liars: [KEY] };
	assert.deepEqual(wrongIn(liar), [], "who lied may be convicted");
	assert.deepEqual(wrongIn({ ...GOOD, payments: [{ to: "0x99", value: 1n, outcome: "unknown" }] }), []);
});

const [job] = GOOD.jobs as [Facts["jobs"][number]];
const paidTwice = { part: 0, outcome: "paid", provider: KEY };
const BROKEN: Readonly<Record<string, readonly [change: Partial<Facts>, says: RegExp]>> = {
	"a part is settled twice": [{ escrow: [...escrow, escrow[1]!] }, /part 0: on chain paid and paid/],
	"a part is paid and given back": [
		{ escrow: [...escrow, { kind: "Refunded", job: JOB, part: 0, amount: 0n }] },
		/part 0: on chain paid and refunded/,
	],
	"a part never ends": [
		{ escrow: escrow.filter(({ kind }) => kind !== "Refunded") },
		/part 1: on chain never at an end/,
	],
	"the record knows of no payment": [
		{ jobs: [{ ...job, parts: [{ state: "open", provider: null }, job.parts[1]!] }] },
		/part 0 is open in the record, paid on chain/,
	],
	"a job that is never over": [{ jobs: [{ ...job, isOver: false }] }, /is not over/],
	"a payment stands twice in the rows": [
		{ jobs: [{ ...job, outcomes: [paidTwice, paidTwice] }] },
		/part 0: 2 payments in the public rows, paid on chain/,
	],
	"a probe is counted twice": [
		{ probes: [...GOOD.probes, { id: "p2", evidence: "e1", inJournal: 1 }] },
		/evidence e1 is counted 2 times/,
	],
	"a probe is not in the journal": [
		{ probes: [{ id: "p1", evidence: null, inJournal: 0 }] },
		/p1 stands 0 times in the journal/,
	],
	"a balance is not the sum of its transfers": [{ balances: { ...GOOD.balances, [SHOP]: 8n } }, /0x5f has 8/],
	"a payment arrives twice": [
		{ transfers: [...GOOD.transfers, GOOD.transfers[4]!], balances: {} },
		/7 to 0x5f, said to be done, arrived 2 times/,
	],
	"a payment that was refused arrives": [
		{ payments: [{ to: SHOP, value: 7n, outcome: "refused" }] },
		/said to be refused, arrived 1 times/,
	],
	"an honest one is convicted on chain": [
		{ escrow: [...escrow, { kind: "Convicted", job: JOB, part: 0, provider: HOST }] },
		/0xb0 is convicted on chain/,
	],
	"an honest one is convicted in the rows": [
		{ jobs: [{ ...job, outcomes: [...job.outcomes, { ...paidTwice, outcome: "convicted" }] }] },
		/is convicted in the rows/,
	],
	"a bond stays locked": [{ deposits: { [HOST]: { free: 40n, locked: 10n, leaving: 0n } } }, /a bond of 10 of 0xb0/],
	"what is funded is known to nobody": [
		{ escrow: escrow.filter(({ kind }) => kind !== "Cancelled") },
		/12 lie in a job that nobody handed in/,
	],
	"the escrow has more than it owes": [{ owed: { [HOST]: 10n } }, /the escrow has 86, and owes 60/],
};
for (const [name, [change, says]] of Object.entries(BROKEN))
	test(`it is seen when ${name}`, () => assert.match(wrongIn({ ...GOOD, ...change }).join("\n"), says));
