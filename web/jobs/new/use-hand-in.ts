// From a job that was built to one that is handed in: upload, price, funds, submission. Each step can be done
// again; what was achieved stays. An upload that a reload cut goes on by itself, and an offer that was funded
// is handed in again.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JobQuote } from "../../../src/api/types.ts";
import { leastPaidOf } from "../../../src/market/jobs/check-offer.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { bytesToHex } from "../../../src/protocol/bytes/bytes.ts";
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import type { JobOffer } from "../../../src/protocol/network/job-offer.ts";
import type { Customer } from "../../rent/rental-key.ts";
import { api, type Trouble, troubleOf } from "../../shell/api.ts";
import { goTo } from "../../shell/router.ts";
import { forgetJob, type KeptJob, keepJob } from "../work/kept-jobs.ts";
import { uploadJob } from "../work/upload-job.ts";
import { fundJob, openWallet } from "../work/wallet.ts";
import type { Built, Draft } from "./use-built.ts";

type HandInState = "edit" | "uploading" | "paused" | "asking" | "quoted" | "allow" | "fund" | "submitting";

/** "no": this browser has no room to keep the files, so a reload begins anew. */
type Kept = "not yet" | "yes" | "no";

interface Shown {
	readonly state: HandInState;
	readonly sentBytes: number;
	readonly quote: JobQuote | null;
	readonly trouble: Trouble | null;
	readonly kept: Kept;
	/** The account that pays is kept by this page: no wallet asks for anything. */
	readonly isTrial: boolean;
}

export interface HandIn extends Shown {
	readonly start: () => void;
	readonly pause: () => void;
	readonly accept: () => void;
	/** Back to the form. */
	readonly drop: () => void;
}

export interface Wish {
	readonly draft: Draft | null;
	readonly built: Built;
	readonly method: JobMethod;
	readonly customer: Customer | null;
	/** The draft as it was when an upload was cut off. */
	readonly isResumed: boolean;
}

type Spec = Parameters<Customer["client"]["quoteJob"]>[0]["body"]["spec"];

const BEGIN: Shown = { state: "edit", sentBytes: 0, quote: null, trouble: null, kept: "not yet", isTrial: false };

const keptOf = ({ draft, built, method }: Wish, id: string, upload: KeptJob["upload"]): KeptJob => ({
	id,
	upload,
	method,
	card: draft!.card,
	title: draft!.title,
	text: draft!.text,
	files: draft!.files,
	savedAtMs: Date.now(),
	tokensAStep: built.job?.tokensAStep ?? null,
	pending: null,
});

const specOf = ({ built, method }: Wish): Spec => ({ ...built.job!.spec, method }) as Spec;

/** What it may cost, asked of the validator and checked here. */
async function askPrice(wish: Wish): Promise<{ readonly quote: JobQuote; readonly isTrial: boolean }> {
	const { customer, built } = wish;
	const { order } = built.job!;
	const { mostMicros, hourMicros } = order;
	const { chain } = await api.getChain();
	const wallet = chain === null ? null : await openWallet(chain, customer!.client);
	const account = wallet?.account ?? null;
	const salt = bytesToHex(crypto.getRandomValues(new Uint8Array(32)));
	const spec = specOf(wish);
	const leastPaidMs = hourMicros === null ? undefined : leastPaidOf((await api.getParams()).params);
	const body = { spec, account, salt, mostMicros, ...(hourMicros !== null && { hourMicros }) };
	const quote = await customer!.client.quoteJob({ body });
	await built.work!.ask("offer", {
		offer: quote.offer,
		spec,
		order,
		leastPaidMs,
		payer: account === null ? null : { account, salt },
	});
	return { quote, isTrial: wallet?.isTrial ?? false };
}

export function useHandIn(wish: Wish): HandIn {
	const { customer, built, isResumed } = wish;
	const [shown, setShown] = useState<Shown>(BEGIN);
	const stop = useRef<AbortController | null>(null);
	/** "maybe": no answer came from whoever sends the transaction. */
	const funded = useRef<"no" | "maybe" | "yes">("no");
	const keeping = useRef(0);
	const change = (next: Partial<Shown>) => setShown((before) => ({ ...before, ...next }));
	const isReady = built.state === "ready" && customer !== null;

	/** Beside the upload: copying large files takes a while. */
	const keep = (upload: KeptJob["upload"]) => {
		const mine = ++keeping.current;
		change({ kept: "not yet" });
		void keepJob(keptOf(wish, "draft", upload)).then(
			(isKept) => mine === keeping.current && change({ kept: isKept ? "yes" : "no" }),
		);
	};
	const start = async () => {
		if (!isReady) return;
		const running = new AbortController();
		stop.current = running;
		change({ state: "uploading", trouble: null });
		keep("running");
		try {
			await uploadJob(customer.client, built.work!, built.job!, {
				signal: running.signal,
				onProgress: (sentBytes) => running.signal.aborted || change({ sentBytes }),
			});
			running.signal.throwIfAborted();
			change({ state: "asking" });
			const asked = await askPrice(wish);
			if (!running.signal.aborted) change({ state: "quoted", ...asked });
		} catch (error) {
			if (!running.signal.aborted) change({ state: "paused", trouble: troubleOf(error) });
		}
	};
	const pause = () => {
		stop.current?.abort();
		keep("paused");
		change({ state: "paused", trouble: null });
	};
	const handIn = async (offer: JobOffer) => {
		change({ state: "submitting" });
		const { id } = await customer!.client.submitJob({ body: { spec: specOf(wish), offer: offer as never } });
		await keepJob(keptOf(wish, offer.id, "none"));
		await forgetJob("draft");
		goTo(`/jobs/${id}`);
	};
	const pay = async ({ escrow }: JobOffer) => {
		if (escrow === null || funded.current === "yes") return;
		const { chain } = await api.getChain();
		const wallet = await openWallet(chain!, customer!.client);
		await fundJob(wallet, escrow, chain!.contracts.token, (state) => change({ state }));
		funded.current = "yes";
	};
	const accept = async () => {
		const { quote } = shown;
		if (quote === null || customer === null) return;
		const offer = quote.offer as JobOffer;
		change({ trouble: null });
		try {
			// Before any money moves: whatever fails from here on, this browser can hand it in, take the money
			// back, and make files of what comes back.
			const pending = { spec: specOf(wish), offer };
			// A reload now offers to hand this one in; the draft would ask for a price a second time.
			if (await keepJob({ ...keptOf(wish, offer.id, "none"), pending })) await forgetJob("draft");
			if (funded.current === "maybe") {
				const error = await handIn(offer).catch((reason: unknown) => reason);
				if (error === undefined) return;
				if (!(error instanceof AssayError && error.code === "JOB_UNFUNDED")) throw error;
			}
			await pay(offer);
			await handIn(offer);
		} catch (error) {
			if (error instanceof AssayError && error.code === "CHAIN_UNKNOWN") funded.current = "maybe";
			// Without money in it there is nothing to hand in later: it is a draft again.
			if (offer.escrow !== null && funded.current === "no") {
				await forgetJob(offer.id);
				await keepJob(keptOf(wish, "draft", "running"));
			}
			change({ state: "quoted", trouble: troubleOf(error) });
		}
	};
	const drop = async () => {
		stop.current?.abort();
		funded.current = "no";
		// Before the form is back: whoever leaves the page then does not find the upload going on later.
		await forgetJob("draft");
		setShown(BEGIN);
	};
	useEffect(() => {
		if (isResumed && isReady && shown.state === "edit") void start();
	}, [isResumed, isReady]);
	useEffect(() => () => stop.current?.abort(), []);
	return { ...shown, start: () => void start(), pause, accept: () => void accept(), drop: () => void drop() };
}
