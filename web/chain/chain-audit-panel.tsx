// The audit of one of the chain's epochs as a visitor sees it: a button, each check with what it found, every
// row that differs, and how to ask somebody else.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Chain, ChainEpoch, ChainWeight } from "../../src/api/types.ts";
import { Badge, CopyButton, Failed, Panel, Table } from "../parts/small.tsx";
import { api, type Trouble, troubleOf } from "../shell/api.ts";
import type { ChainAudit } from "./chain-audit.ts";
import type { Elsewhere } from "./chain-elsewhere.ts";
import { some } from "./chain-format.ts";
import { Account } from "./chain-parts.tsx";

/** Where the audit lies, filled in by scripts/build-web.ts. */
declare const CHAIN_AUDIT: string;

const MARKS = { equal: "✓", differs: "✕", unknown: "?" } as const;
const WORDS = { equal: "equal", differs: "differs", unknown: "not known" } as const;
const MAX_SHOWN = 100;

async function fileOf(path: string, signal: AbortSignal): Promise<Uint8Array | null> {
	// As it is now, not as it was a minute ago.
	const response = await fetch(path, { cache: "no-store", signal });
	if (response.status === 404) return null;
	if (!response.ok) throw new Error(`${path} could not be fetched (${response.status})`);
	return new Uint8Array(await response.arrayBuffer());
}

type State =
	| { readonly kind: "idle" }
	| { readonly kind: "running"; readonly step: string }
	| { readonly kind: "done"; readonly audit: ChainAudit; readonly atMs: number }
	| { readonly kind: "failed"; readonly trouble: Trouble };

export function ChainAuditPanel({ chain, epoch }: { chain: Chain; epoch: ChainEpoch }) {
	const [state, setState] = useState<State>({ kind: "idle" });
	const [ways, setWays] = useState<readonly Elsewhere[] | null>(null);
	const stop = useRef(new AbortController());
	useEffect(() => () => stop.current.abort(), []);

	async function run(): Promise<void> {
		stop.current.abort();
		const controller = new AbortController();
		stop.current = controller;
		const { signal } = controller;
		setState({ kind: "running", step: "reading" });
		try {
			const { auditChainEpoch } = (await import(CHAIN_AUDIT)) as typeof import("./chain-audit.ts");
			const params = { number: epoch.number };
			const fresh = await api.getChainEpoch({ params }, { signal });
			const rows: ChainWeight[] = [];
			for await (const row of api.rows("listChainWeights", { params, query: { limit: 500 } }, { signal }))
				rows.push(row);
			const audit = await auditChainEpoch({
				chain,
				epoch: fresh,
				rows,
				file: (path) => fileOf(path, signal),
				// The page stays alive between two trees of ten thousand leaves.
				async onStep(step) {
					setState({ kind: "running", step });
					await new Promise((resolve) => setTimeout(resolve));
					signal.throwIfAborted();
				},
			});
			setState({ kind: "done", audit, atMs: Date.now() });
		} catch (error) {
			if (!signal.aborted) setState({ kind: "failed", trouble: troubleOf(error) });
		}
	}

	async function showWays(): Promise<void> {
		const { elsewhere } = await import("./chain-elsewhere.ts");
		setWays(elsewhere(chain, epoch));
	}

	const isRunning = state.kind === "running";
	return (
		<Panel title="Audit in this browser" aside="scores, medians, signatures, rewards and payments, from the leaves up">
			<div class="audit" data-audit={state.kind === "done" ? (state.audit.isEqual ? "equal" : "differs") : state.kind}>
				<div class="audit-verdict">
					<button type="button" class="primary" disabled={isRunning} onClick={() => void run()}>
						{isRunning ? "Auditing…" : state.kind === "done" ? "Audit again" : "Audit this epoch"}
					</button>
					<span role="status">
						{isRunning ? <span class="dim">{state.step}</span> : null}
						{state.kind === "done" ? <Verdict audit={state.audit} /> : null}
					</span>
				</div>
				{state.kind === "failed" ? <Failed trouble={state.trouble} again={() => void run()} /> : null}
				{state.kind === "done" ? <Found audit={state.audit} /> : null}
				<details onToggle={(event) => event.currentTarget.open && void showWays()}>
					<summary>Without this validator’s word</summary>
					<ul class="commands">
						{(ways ?? []).map(({ about, command }) => (
							<li key={command} class="command">
								<p>{about}</p>
								<pre>{command}</pre>
								<CopyButton text={command} />
							</li>
						))}
					</ul>
				</details>
			</div>
		</Panel>
	);
}

function Verdict({ audit: { checks, differences, isEqual } }: { audit: ChainAudit }) {
	if (isEqual) return <Badge tone="valid">equal in all {checks.length} checks</Badge>;
	if (differences.length > 0 || checks.some(({ state }) => state === "differs"))
		return <Badge tone="invalid">{some(differences.length, "difference")}</Badge>;
	return <Badge tone="inconclusive">not all can be checked yet</Badge>;
}

function Found({ audit }: { audit: ChainAudit }) {
	return (
		<>
			<ul class="audit-list" aria-label="Checks of the audit">
				{audit.checks.map(({ title, state, found }) => (
					<li key={title} class={`audit-check is-${state === "differs" ? "differing" : state}`}>
						<span class="audit-mark" aria-hidden="true">
							{MARKS[state]}
						</span>
						<span class="audit-title">
							{title}
							<span class="hidden">: {WORDS[state]}</span>
						</span>
						<span class="audit-found">{found}</span>
					</li>
				))}
			</ul>
			{audit.notes.map((note) => (
				<p key={note} class="dim">
					{note}
				</p>
			))}
			{audit.differences.length === 0 ? null : (
				<>
					<Table label="What differs" head={["What", "Whose", "Stated", "Worked out"]}>
						{audit.differences.slice(0, MAX_SHOWN).map(({ what, who, stated, right }) => (
							<tr key={`${what} ${who} ${stated}`}>
								<td class="differs">{what}</td>
								<td>{who.startsWith("0x") ? <Account account={who} /> : who}</td>
								<td>
									<code>{long(stated)}</code>
								</td>
								<td>
									<code>{long(right)}</code>
								</td>
							</tr>
						))}
					</Table>
					{audit.differences.length > MAX_SHOWN ? (
						<p class="dim">… and {audit.differences.length - MAX_SHOWN} more</p>
					) : null}
				</>
			)}
		</>
	);
}

const long = (value: string): string => (value.length > 40 ? `${value.slice(0, 18)}…${value.slice(-6)}` : value);
