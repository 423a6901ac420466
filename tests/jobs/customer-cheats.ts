// Customers that cheat, one function each: every one is refused by a code, and costs nobody anything. Each
// gives what it came to.
import { nameBlob, uploadBlob } from "../../src/api/blob-transfer.ts";
import { cancelJobCall, readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { JobSpec } from "../../src/protocol/network/job-spec.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { type Customer, quote, submit, type toyJob, upload } from "./customer.ts";
import type { JobMarket } from "./job-market.ts";

type ToyJob = Awaited<ReturnType<typeof toyJob>>;

interface Stranger {
	readonly market: JobMarket;
	/** Has uploaded nothing yet. */
	readonly customer: Customer;
	readonly job: ToyJob;
}

const codeOf = async (act: Promise<unknown>): Promise<string> => {
	try {
		await act;
		return "taken";
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		return error.code;
	}
};

const QUOTES = 50;
const NO_PROGRAM = new Uint8Array(2000).fill(7);

/** In this order: some rely on what was uploaded before. */
export const CUSTOMER_CHEATS: readonly {
	readonly name: string;
	/** What it must come to. */
	readonly ends: string;
	readonly act: (of: Stranger) => Promise<string>;
}[] = [
	{
		// Names alone give nothing: the blobs lie there, for somebody else.
		...{ name: "another customer's blobs by name", ends: "JOB_INPUTS" },
		act: ({ customer, job }) => codeOf(quote(customer, job.spec)),
	},
	{
		...{ name: "a blob under another's root", ends: "BLOB_WRONG" },
		async act({ customer: { client }, job }) {
			const { root, size, bytes } = job.blobs[0]!;
			const wrong = bytes().map((byte, i) => (i === 7 ? byte ^ 1 : byte));
			const { roots } = await nameBlob({ bytes: bytes() });
			await client.beginBlob({ params: { root }, query: { size }, body: Buffer.concat(roots) });
			return codeOf(client.putBlob({ params: { root }, query: { size, offset: 0 }, body: wrong }));
		},
	},
	{
		...{ name: "two customers with one blob", ends: "both have it" },
		async act({ customer, job }) {
			await upload(customer, job);
			return (await codeOf(quote(customer, job.spec))) === "taken" ? "both have it" : "one lost it";
		},
	},
	{
		...{ name: "an overflowing spec", ends: "JOB_SPEC" },
		act: ({ customer, job }) => codeOf(quote(customer, { ...job.spec, given: job.spec.given.slice(1) } as JobSpec)),
	},
	{
		...{ name: "a program that is none", ends: "PROGRAM_MALFORMED" },
		async act({ customer, job }) {
			const { blob } = await nameBlob({ bytes: NO_PROGRAM });
			await uploadBlob(customer.client, { bytes: NO_PROGRAM });
			return codeOf(quote(customer, { ...job.spec, program: blob } as JobSpec));
		},
	},
	{
		// Nobody but an engine reads them: whoever is drawn declines, and locks nothing.
		...{ name: "inputs outside their intervals", ends: "declined" },
		async act({ market, customer, job }) {
			const [first, ...others] = job.spec.given;
			const bytes = new Uint8Array(first!.size).fill(127);
			const { root } = await uploadBlob(customer.client, { bytes });
			const spec = { ...job.spec, given: [{ ...first!, root }, ...others] } as JobSpec;
			const id = await submit(market, customer, spec);
			const part = await eventually(async () => {
				const { record } = await customer.client.getJob({ params: { id } });
				return record.parts[0]!.excluded.length > 0 && record.parts[0]!;
			});
			const { state } = await readJobPart(market.contracts, BigInt(`0x${id}`), 0);
			const { offer } = await customer.client.getJobDraws({ params: { id } });
			const cancel = cancelJobCall(market.contracts, jobTermsFromText(offer.escrow!.terms));
			await sendCall(market.contracts.client, customer.account, cancel);
			return part.claim === null && state === "untouched" ? "declined" : "taken";
		},
	},
	{
		...{ name: "a job without funds", ends: "JOB_UNFUNDED" },
		async act({ customer, job }) {
			const { offer } = await quote(customer, job.spec);
			return codeOf(customer.client.submitJob({ body: { spec: job.spec as never, offer } }));
		},
	},
	{
		...{ name: "an offer with another price", ends: "JOB_OFFER" },
		async act({ customer, job }) {
			const { offer } = await quote(customer, job.spec);
			const cheaper = { ...offer, terms: { ...offer.terms, priceMicros: 1 } };
			return codeOf(customer.client.submitJob({ body: { spec: job.spec as never, offer: cheaper } }));
		},
	},
	{
		...{ name: "a flood of quotes", ends: "no row" },
		async act({ market, customer, job }) {
			const { jobs } = market.validator.store;
			const before = (await jobs.list({ limit: 500 })).rows.length;
			for (let i = 0; i < QUOTES; i++) await quote(customer, job.spec);
			return (await jobs.list({ limit: 500 })).rows.length === before ? "no row" : "rows";
		},
	},
	{
		...{ name: "takes back what somebody works on", ends: "JOB_STATE" },
		async act({ market, customer, job }) {
			const id = await submit(market, customer, job.spec);
			for (;;) {
				const { record } = await customer.client.getJob({ params: { id } });
				if (record.parts[0]!.state !== "open") break;
				await new Promise((resolve) => setTimeout(resolve, 50));
			}
			return codeOf(customer.client.cancelJob({ params: { id } }));
		},
	},
];
