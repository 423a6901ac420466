// A provider on the chain: the account that is paid for it, its stake, rewards, bound devices. Nothing where
// the validator has no chain.
import type { Chain, ChainAccountView } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { CopyButton, Empty, Panel, Shown, Tile } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";
import { Account, Amount, ChainTime } from "./chain-parts.tsx";
import { useChain, useReloadWith } from "./use-chain.ts";

export function ChainPanel({ providerId }: { providerId: string }) {
	const { value } = useChain();
	return value === null || value.chain === null ? null : (
		<OnChain providerId={providerId} chain={value.chain} skewMs={value.skewMs} />
	);
}

function OnChain({ providerId, chain, skewMs }: { providerId: string; chain: Chain; skewMs: number }) {
	const loaded = useLoaded(
		`on chain ${providerId}`,
		async (signal) => await api.getProviderChain({ params: { id: providerId } }, { signal }),
	);
	useReloadWith(chain, loaded.reload);
	return (
		<Panel title="On chain" aside={`chain ${chain.chainId}, block ${formatCount(chain.head.number)}`}>
			<Shown of={loaded} what="the account">
				{({ account }) =>
					account === null ? (
						<Empty title="No account on this chain">It earns nothing until its key vouches for one.</Empty>
					) : (
						<AccountView account={account} chain={chain} skewMs={skewMs} />
					)
				}
			</Shown>
		</Panel>
	);
}

const SHOWN_CLAIMS = 8;

function AccountView({ account, chain, skewMs }: { account: ChainAccountView; chain: Chain; skewMs: number }) {
	const { token } = chain;
	return (
		<>
			<dl class="tiles">
				<Tile
					name="Account"
					value={<Account account={account.account} />}
					note={
						<>
							<CopyButton text={account.account} label="Copy account" />{" "}
							{account.isKept
								? "kept by the embedded chain’s owner"
								: account.role === "none"
									? "not registered"
									: "its own"}
						</>
					}
				/>
				<Tile
					name="Stake"
					value={<Amount amount={account.stake} token={token} />}
					note={
						account.slashed !== "0" ? (
							<span class="differs">
								✕ slashed by <Amount amount={account.slashed} token={token} />
							</span>
						) : account.unlockAtMs !== null ? (
							<>
								<Amount amount={account.unbonding} token={token} /> leaves{" "}
								<ChainTime atMs={account.unlockAtMs} skewMs={skewMs} />
							</>
						) : (
							"can be lost by proven fraud"
						)
					}
				/>
				<Tile
					name="Earned"
					value={<Amount amount={account.earned} token={token} />}
					note={
						account.pending !== "0" ? (
							<>
								<Amount amount={account.pending} token={token} /> more when final
							</>
						) : account.finalEpoch === null ? (
							"no weights are final yet"
						) : (
							<>
								up to <a href={`/epochs/${account.finalEpoch}`}>epoch {formatCount(account.finalEpoch)}</a>
							</>
						)
					}
				/>
				<Tile
					name="Paid"
					value={<Amount amount={account.claimed} token={token} />}
					note={
						account.payout === account.account ? (
							"to this account"
						) : (
							<>
								to <Account account={account.payout} />
							</>
						)
					}
				/>
				<Tile
					name="To be claimed"
					value={<Amount amount={account.claimable} token={token} />}
					note={account.claimable === "0" ? "nothing waits" : "one claim pays all of it; nothing lapses"}
				/>
				<Tile
					name="Devices bound"
					value={formatCount(account.devices.length)}
					note={
						account.devices.length === 0 ? (
							"none"
						) : (
							<>
								until <ChainTime atMs={Math.min(...account.devices.map(({ untilMs }) => untilMs))} skewMs={skewMs} />
							</>
						)
					}
				/>
			</dl>
			{account.devices.length === 0 && account.claims.length === 0 ? null : (
				<div class="columns chain-lists">
					{account.devices.length === 0 ? null : <Devices devices={account.devices} skewMs={skewMs} />}
					{account.claims.length === 0 ? null : <Claims claims={account.claims} token={token} />}
				</div>
			)}
		</>
	);
}

function Devices({ devices, skewMs }: { devices: ChainAccountView["devices"]; skewMs: number }) {
	return (
		<section aria-labelledby="bound-devices">
			<h3 id="bound-devices">Devices bound to it</h3>
			<ul class="chain-list">
				{devices.map(({ device, evidenceSha256, untilMs }) => (
					<li key={device}>
						<Account account={device} />
						<span class="dim">
							<a href={`/v1/evidence/${evidenceSha256.slice(2)}`} download={`${evidenceSha256.slice(2)}.assay`}>
								evidence
							</a>
						</span>
						<span class="dim">
							runs out <ChainTime atMs={untilMs} skewMs={skewMs} />
						</span>
					</li>
				))}
			</ul>
		</section>
	);
}

function Claims({ claims, token }: { claims: ChainAccountView["claims"]; token: Chain["token"] }) {
	return (
		<section aria-labelledby="paid-rewards">
			<h3 id="paid-rewards">Paid to it</h3>
			<ul class="chain-list">
				{claims.slice(0, SHOWN_CLAIMS).map(({ to, amount, at }) => (
					<li key={at.hash}>
						<Amount amount={amount} token={token} />
						<span class="dim">
							to <Account account={to} />
						</span>
						<span class="dim">block {formatCount(at.block)}</span>
					</li>
				))}
			</ul>
		</section>
	);
}
