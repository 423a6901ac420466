// A new job: choose a workload, change what is to be computed, choose how it is verified, see the price, hand
// it in. Everything is built in this browser first; nothing is sent before it is known to be sound.
import { useLayoutEffect, useState } from "preact/hooks";
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import { useParams } from "../../parts/network-params.ts";
import { Failed, PageTitle, Panel } from "../../parts/small.tsx";
import type { Customer } from "../../rent/rental-key.ts";
import { CustomerPanel } from "../../rent/reserve-panel.tsx";
import { api, type Trouble, troubleOf, useLoaded } from "../../shell/api.ts";
import { loadKept } from "../work/kept-jobs.ts";
import { sampleJob } from "../work/samples.ts";
import { CARDS, type Card } from "./cards.ts";
import { BuiltFacts, HandInSteps } from "./hand-in-panel.tsx";
import { HourPrice } from "./hour-price.tsx";
import { JobForm, jobText } from "./job-form.tsx";
import { CHOICES, MethodChoice } from "./method-choice.tsx";
import { PendingJobs } from "./pending-jobs.tsx";
import { type Draft, useBuilt } from "./use-built.ts";
import { useHandIn } from "./use-hand-in.ts";

function Cards(p: { chosen: string | null; isLocked: boolean; onChoose: (card: Card) => void }) {
	return (
		<fieldset class="workloads" disabled={p.isLocked}>
			<legend class="hidden">Workload</legend>
			{CARDS.map((card) => (
				<label key={card.key} class="workload">
					<input
						type="radio"
						name="workload"
						value={card.key}
						checked={p.chosen === card.key}
						onChange={() => p.onChoose(card)}
					/>
					<span class="workload-title">{card.title}</span>
					<span class="dim">{card.text}</span>
				</label>
			))}
		</fieldset>
	);
}

/** The draft, begun with a sample or with what a reload left. */
function useDraft() {
	const [draft, setDraft] = useState<Draft | null>(null);
	const [chosen, setChosen] = useState<{ readonly card: string; readonly sample: string } | null>(null);
	const [method, setMethod] = useState<JobMethod>(CHOICES[0]!.method);
	const [resumed, setResumed] = useState<Draft | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	// Before anything else may happen: a kept draft that is read slowly does not replace what was chosen since.
	useLayoutEffect(() => {
		let isCurrent = true;
		setTrouble(null);
		if (chosen === null)
			void loadKept("draft").then((kept) => {
				if (!isCurrent || kept === null || kept.upload === "none") return;
				const left = { card: kept.card, title: kept.title, text: kept.text, files: kept.files };
				setDraft(left);
				setMethod(kept.method);
				if (kept.upload === "running") setResumed(left);
			});
		else
			sampleJob(chosen.sample).then(
				(json) => isCurrent && setDraft({ card: chosen.card, title: chosen.sample, text: jobText(json), files: {} }),
				(error) => isCurrent && setTrouble(troubleOf(error)),
			);
		return () => {
			isCurrent = false;
		};
	}, [chosen]);
	const begin = (card: string, sample: string) => setChosen({ card, sample });
	// A file that was handed to a form which is no longer shown must not bring its draft back.
	const edit = (next: Draft) => setDraft((now) => (now === draft ? next : now));
	// Only as it was: what was changed since is not uploaded by itself.
	const isResumed = draft !== null && draft === resumed;
	return { draft, edit, card: chosen?.card ?? draft?.card, method, setMethod, isResumed, trouble, begin };
}

export function NewJob({ customer, onSignIn }: { customer: Customer | null; onSignIn: () => void }) {
	const { draft, edit, card: chosen, method, setMethod, isResumed, trouble, begin } = useDraft();
	const built = useBuilt(draft);
	const hosts = useLoaded("job hosts", (signal) => api.listJobHosts({ query: { limit: 500 } }, { signal }));
	const params = useParams();
	const chain = useLoaded("chain of jobs", (signal) => api.getChain({}, { signal }));
	const handIn = useHandIn({ draft, built, method, customer, isResumed });
	const isLocked = handIn.state !== "edit";
	const card = CARDS.find(({ key }) => key === draft?.card) ?? null;
	return (
		<>
			<PageTitle sub="Strangers run it; you pay only for what is right. The job is built and checked in this browser before anything is sent.">
				New job
			</PageTitle>
			<CustomerPanel customer={customer} onChange={onSignIn} />
			{customer === null ? null : <PendingJobs customer={customer} />}
			<Panel title="1. Workload">
				<Cards chosen={chosen ?? null} isLocked={isLocked} onChoose={(one) => begin(one.key, one.samples[0]![0])} />
			</Panel>
			{trouble === null ? null : <Failed trouble={trouble} />}
			{draft === null || card === null ? null : (
				<>
					<Panel title="2. What to compute" aside="a sample, ready to run: change what you like">
						<JobForm {...{ card, draft, isLocked }} onSample={(name) => begin(card.key, name)} onChange={edit} />
						<BuiltFacts built={built} />
					</Panel>
					<Panel title="3. How it is verified" aside="estimates; the validator's own price comes next">
						<MethodChoice
							job={built.job}
							hosts={hosts.value?.rows ?? null}
							params={params.value}
							method={method}
							isLocked={isLocked}
							onChoose={setMethod}
						/>
					</Panel>
					<Panel title="4. Price and hand in">
						<HourPrice
							text={draft.text}
							isLocked={isLocked}
							leastPaidMs={params.value?.jobLeastPaidMs ?? null}
							onText={(text) => edit({ ...draft, text })}
						/>
						<HandInSteps
							of={handIn}
							job={built.job}
							isSignedIn={customer !== null}
							isReady={built.state === "ready"}
							chain={chain.value?.chain ?? null}
						/>
					</Panel>
				</>
			)}
		</>
	);
}
