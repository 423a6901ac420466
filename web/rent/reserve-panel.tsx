// Who rents, and the reservation of one provider: hours, SSH key, price before anything is asked. The request
// is signed here.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Provider } from "../../src/api/types.ts";
import { formatPercent, wholeSpan } from "../../src/protocol/format-number.ts";
import { formatGpuPrice, formatMoney } from "../parts/format.ts";
import { useParams } from "../parts/network-params.ts";
import { Fact, Failed, HostLink, Id, Panel, Shown } from "../parts/small.tsx";
import { AttestedBadge } from "../proofs/attested.tsx";
import { api, type Trouble, troubleOf, useLoaded } from "../shell/api.ts";
import { provenCards } from "./proven-columns.tsx";
import { type Customer, forgetToken, keepToken, makeCustomer } from "./rental-key.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Who the visitor is to this validator; nothing before the first rental. */
export function CustomerLine({ customer, onChange }: { customer: Customer; onChange: () => void }) {
	if (customer.kind === "key")
		return (
			<p class="bar">
				<span>
					You are <Id id={customer.key} /> <span class="dim">(a key kept in this browser)</span>
				</span>
			</p>
		);
	return (
		<p class="bar">
			<span>
				You use an API token <span class="dim">(for this tab only)</span>
			</span>
			<button
				type="button"
				class="small"
				onClick={() => {
					forgetToken();
					onChange();
				}}
			>
				Forget it
			</button>
		</p>
	);
}

/** Instead of the key that this browser makes at the end. */
function TokenField({ onChange }: { onChange: () => void }) {
	const [token, setToken] = useState("");
	const take = () => {
		keepToken(token.trim());
		onChange();
	};
	return (
		<details>
			<summary>Use an API token instead</summary>
			<div class="row">
				<label>
					API token
					<input
						type="password"
						autoComplete="off"
						value={token}
						onInput={(event) => setToken(event.currentTarget.value)}
					/>
				</label>
				<button type="button" disabled={token.trim() === ""} onClick={take}>
					Use token
				</button>
			</div>
		</details>
	);
}

/** For pages that have something to show to customers alone. */
export function CustomerPanel({ customer, onChange }: { customer: Customer | null; onChange: () => void }) {
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	if (customer !== null) return <CustomerLine customer={customer} onChange={onChange} />;
	const create = () => {
		try {
			makeCustomer();
			onChange();
		} catch (error) {
			setTrouble(troubleOf(error));
		}
	};
	return (
		<Panel title="Sign in">
			<div class="bar">
				<button type="button" class="primary" onClick={create}>
					Create a browser key
				</button>
				<TokenField onChange={onChange} />
			</div>
			{trouble === null ? null : <Failed trouble={trouble} />}
		</Panel>
	);
}

export function ReservePanel(p: {
	providerId: string;
	/** Null: a key is made when the visitor reserves, not before. */
	customer: Customer | null;
	onCustomer: () => void;
	onReserved: () => void;
	onCancel: () => void;
}) {
	const { providerId, customer } = p;
	const provider = useLoaded(providerId, (signal) => api.getProvider({ params: { id: providerId } }, { signal }));
	const [hours, setHours] = useState("1");
	const [publicKey, setPublicKey] = useState("");
	const [busy, setBusy] = useState(false);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const first = useRef<HTMLInputElement>(null);
	const isThere = provider.value !== null;
	// Whoever pressed "Rent" in the list goes on here, by keyboard too.
	useEffect(() => first.current?.focus(), [isThere]);
	const limits = useRentalLimits();
	const durationMs = Math.round(Number(hours) * HOUR_MS);
	const reserve = async (price: number) => {
		setBusy(true);
		setTrouble(null);
		const key = publicKey.trim().split(/\s+/).slice(0, 2).join(" ");
		try {
			const { client } = customer ?? makeCustomer();
			await client.rent({ body: { providerId, publicKey: key, durationMs, maxPriceMicros: price } });
			p.onCustomer();
			p.onReserved();
		} catch (error) {
			setTrouble(troubleOf(error));
		} finally {
			setBusy(false);
		}
	};
	return (
		<Panel title="Reserve">
			<Shown of={provider} what="the offer">
				{(offer) => (
					<form
						class="reserve"
						aria-label="Reserve"
						onSubmit={(event) => {
							event.preventDefault();
							void reserve(offer.pricePerHourMicros);
						}}
					>
						<OfferFacts offer={offer} />
						<label>
							Hours
							<input
								ref={first}
								type="number"
								min="0.02"
								max={limits?.maxHours}
								step="any"
								value={hours}
								onInput={(event) => setHours(event.currentTarget.value)}
							/>
						</label>
						<label>
							Your SSH public key
							<textarea
								placeholder="ssh-ed25519 AAAA…"
								spellcheck={false}
								value={publicKey}
								onInput={(event) => setPublicKey(event.currentTarget.value)}
							/>
						</label>
						<div class="bar">
							<button
								type="submit"
								class="primary"
								disabled={busy || publicKey.trim() === "" || !(durationMs >= MINUTE_MS)}
							>
								{busy
									? "Reserving …"
									: `Reserve for ${formatMoney(Math.ceil((offer.pricePerHourMicros * durationMs) / HOUR_MS) || 0)}`}
							</button>
							<button type="button" onClick={p.onCancel}>
								Cancel
							</button>
						</div>
						<p class="dim">
							You pay for the time you use
							{limits === null ? "" : `, ${limits.text}`}.
							{customer === null
								? " No account is needed: reserving makes a key that stays in this browser and signs for you."
								: ""}
						</p>
						{customer === null ? <TokenField onChange={p.onCustomer} /> : null}
					</form>
				)}
			</Shown>
			{trouble === null ? null : <Failed trouble={trouble} />}
		</Panel>
	);
}

/** A browser pays no deposit: it may book no longer than this network allows without one. Null: not known. */
function useRentalLimits(): { readonly maxHours: number; readonly text: string } | null {
	const params = useParams().value;
	if (params === null) return null;
	const maxMs = Math.min(params.mostRentalMs, params.mostUnpaidMs);
	const text = `${wholeSpan(params.leastChargeMs)} at least, and may book ${wholeSpan(maxMs)} at most`;
	return { maxHours: maxMs / HOUR_MS, text };
}

function OfferFacts({ offer }: { offer: Provider }) {
	return (
		<dl class="facts">
			<Fact name="Host">
				<HostLink id={offer.id} name={offer.name} />
			</Fact>
			<Fact name="Proven">
				{provenCards(offer)} <AttestedBadge of={offer.attestation} />
			</Fact>
			<Fact name="Price">
				{formatGpuPrice(offer)}
				{offer.gpuCount > 1 ? `, ${formatMoney(offer.pricePerHourMicros)} for all ${offer.gpuCount}` : ""}
			</Fact>
			<Fact name="Uptime">{formatPercent(offer.uptimePpm / 1e6)}</Fact>
		</dl>
	);
}
