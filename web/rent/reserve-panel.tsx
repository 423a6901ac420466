// Who rents, and the reservation of one provider: hours, SSH key, price before anything is asked. The request is signed here.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Provider } from "../../src/api/types.ts";
import { formatPercent } from "../../src/protocol/format-number.ts";
import { formatMoney, shortId } from "../parts/format.ts";
import { Fact, Failed, Id, Panel, Shown } from "../parts/small.tsx";
import { AttestedBadge } from "../proofs/attested.tsx";
import { api, type Trouble, troubleOf, useLoaded } from "../shell/api.ts";
import { provenCards } from "./proven-columns.tsx";
import { type Customer, forgetToken, keepToken, makeKey } from "./rental-key.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export function CustomerPanel({ customer, onChange }: { customer: Customer | null; onChange: () => void }) {
	const [token, setToken] = useState("");
	if (customer !== null)
		return (
			<p class="bar">
				{customer.kind === "key" ? (
					<>
						You are <Id id={customer.key} /> <span class="dim">(a key kept in this browser)</span>
					</>
				) : (
					<>
						You use an API token <span class="dim">(for this tab only)</span>
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
					</>
				)}
			</p>
		);
	return (
		<Panel title="Sign in">
			<form
				class="row"
				onSubmit={(event) => {
					event.preventDefault();
					if (token.trim() === "") return;
					keepToken(token.trim());
					onChange();
				}}
			>
				<button
					type="button"
					class="primary"
					onClick={() => {
						makeKey();
						onChange();
					}}
				>
					Create a browser key
				</button>
				<label>
					or use an API token
					<input
						type="password"
						autoComplete="off"
						value={token}
						onInput={(event) => setToken(event.currentTarget.value)}
					/>
				</label>
				<button type="submit" disabled={token.trim() === ""}>
					Use token
				</button>
			</form>
		</Panel>
	);
}

export function ReservePanel(p: {
	providerId: string;
	customer: Customer | null;
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
	const durationMs = Math.round(Number(hours) * HOUR_MS);
	const reserve = (price: number) => {
		if (customer === null) return;
		setBusy(true);
		setTrouble(null);
		const key = publicKey.trim().split(/\s+/).slice(0, 2).join(" ");
		customer.client
			.rent({ body: { providerId, publicKey: key, durationMs, maxPriceMicros: price } })
			.then(p.onReserved, (error) => setTrouble(troubleOf(error)))
			.finally(() => setBusy(false));
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
							reserve(offer.pricePerHourMicros);
						}}
					>
						<OfferFacts offer={offer} />
						<label>
							Hours
							<input
								ref={first}
								type="number"
								min="0.02"
								max="720"
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
								disabled={customer === null || busy || publicKey.trim() === "" || !(durationMs >= MINUTE_MS)}
							>
								{busy
									? "Reserving …"
									: `Reserve for ${formatMoney(Math.ceil((offer.pricePerHourMicros * durationMs) / HOUR_MS) || 0)}`}
							</button>
							<button type="button" onClick={p.onCancel}>
								Cancel
							</button>
							<span class="dim">
								{customer === null
									? "Create a key or enter a token first."
									: "You are charged for the time you use, with a minimum of one minute."}
							</span>
						</div>
					</form>
				)}
			</Shown>
			{trouble === null ? null : <Failed trouble={trouble} />}
		</Panel>
	);
}

function OfferFacts({ offer }: { offer: Provider }) {
	return (
		<dl class="facts">
			<Fact name="Host">
				<a href={`/providers/${offer.id}`}>{offer.name || shortId(offer.id)}</a>
			</Fact>
			<Fact name="Proven">
				{provenCards(offer)} <AttestedBadge of={offer.attestation} />
			</Fact>
			<Fact name="Price an hour">{formatMoney(offer.pricePerHourMicros)}</Fact>
			<Fact name="Uptime">{formatPercent(offer.uptimePpm / 1e6)}</Fact>
		</dl>
	);
}
