// What this validator says of a provider's GPUs for the chain: one EIP-712 attestation a card of its last valid probe, made when somebody asks and the same for whoever
// asks: nothing is kept that could be lost. Public, like the evidence it names. What the chain makes of it: docs/chain.md §2.

import type { ContractAddresses } from "../../chain/contracts/contracts.ts";
import { signDevice } from "../../chain/contracts/registry.ts";
import type { ProviderBook } from "../../chain/history/provider-book.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { creditUuids } from "../../market/scores/credit-uuids.ts";
import { deviceCommitment, normalDeviceUuid } from "../../protocol/chain/device-commitment.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { createScoreKeeper } from "../scoring/score-keeper.ts";
import type { ValidatorContext } from "../validator-context.ts";

/** As it is served; `parseAttestations` reads it. */
export interface ProviderAttestations {
	readonly version: 1;
	readonly chainId: number;
	readonly registry: Hex;
	readonly validator: Hex;
	/** The provider's account. */
	readonly provider: Hex;
	readonly attestations: readonly SignedAttestation[];
}

interface SignedAttestation {
	readonly device: Hex;
	/** How the provider calls it: a claim. */
	readonly name: string;
	readonly evidenceSha256: Hex;
	/** When the probe ended, seconds since 1970. */
	readonly issuedAt: number;
	readonly signature: Hex;
}

const LOOK_EVERY_MS = 1000;
const PATH = /^\/chain\/devices\/([0-9a-f]{64})\.json$/;
export const attestationsPath = (providerKey: string): string => `/chain/devices/${providerKey}.json`;

export interface DeviceAttesterOptions extends Pick<ValidatorContext, "store" | "config" | "env" | "hub"> {
	readonly addresses: ContractAddresses;
	readonly account: ChainAccount;
	readonly book: Pick<ProviderBook, "accountOf" | "refresh">;
}

/** By path, as public files are asked for; null: none of ours, no such provider, or it has no account on chain. */
export function createDeviceAttester(o: DeviceAttesterOptions): (path: string) => Promise<ProviderAttestations | null> {
	const { store, addresses, account, book } = o;
	const scores = createScoreKeeper(o);
	let lookedAtMs = Number.NEGATIVE_INFINITY;
	/** A provider that has just registered asks at once; whoever asks all day must not make the node work all day. */
	async function look(): Promise<void> {
		if (o.env.nowMs() - lookedAtMs < LOOK_EVERY_MS) return;
		lookedAtMs = o.env.nowMs();
		await book.refresh();
	}
	return async (path) => {
		const [, key] = PATH.exec(path) ?? [];
		const provider = key === undefined ? null : await store.providers.recall(key);
		if (provider === null || provider.state === "removed") return null;
		if (book.accountOf(provider.id) === null) await look();
		const owner = book.accountOf(provider.id);
		if (owner === null) return null;
		const kept = provider.memory.proof;
		const probe = kept === null ? null : await store.probes.get(kept.probeId);
		const base = {
			version: 1,
			chainId: addresses.chainId,
			registry: addresses.registry,
			validator: account.address,
			provider: owner,
		} as const;
		if (kept === null || probe === null || probe.finishedAtMs === null) return { ...base, attestations: [] };
		const elsewhere = new Set(
			(creditUuids(await scores.viewsAround(provider)).get(provider.id) ?? []).map(normalDeviceUuid),
		);
		const issuedAt = Math.floor(probe.finishedAtMs / 1000);
		const evidenceSha256: Hex = `0x${kept.evidence}`;
		const attestations = new Map<Hex, SignedAttestation>();
		for (const { kind, uuid, device: index, claimedName } of probe.devices) {
			const device = kind === "gpu" ? deviceCommitment(uuid) : null;
			// A card of which nothing was proven, or that counts for somebody else, is not attested.
			const isProven = probe.figures.some((figure) => figure.device === index && figure.value > 0);
			if (device === null || !isProven || elsewhere.has(normalDeviceUuid(uuid))) continue;
			const statement = { device, provider: owner, evidenceSha256, issuedAt: BigInt(issuedAt) };
			const signature = await signDevice(account, addresses, statement);
			attestations.set(device, { device, name: claimedName, evidenceSha256, issuedAt, signature });
		}
		return { ...base, attestations: [...attestations.values()] };
	};
}

const MAX_DEVICES = 256;
const isHex = (value: unknown, digits: number): value is Hex =>
	typeof value === "string" && value.length === digits + 2 && /^0x[0-9a-fA-F]+$/.test(value);

/** Hostile bytes from a validator: null for whatever is no such file. Whether signatures hold is for the caller to check. */
export function parseAttestations(bytes: Uint8Array): ProviderAttestations | null {
	let found: Partial<ProviderAttestations>;
	try {
		found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as Partial<ProviderAttestations>;
	} catch {
		return null;
	}
	const { version, chainId, registry, validator, provider, attestations } = found ?? {};
	if (version !== 1 || !Number.isSafeInteger(chainId) || !isHex(registry, 40) || !isHex(validator, 40)) return null;
	if (!isHex(provider, 40) || !Array.isArray(attestations) || attestations.length > MAX_DEVICES) return null;
	const isOne = (one: SignedAttestation | null) =>
		one !== null &&
		typeof one === "object" &&
		isHex(one.device, 64) &&
		isHex(one.evidenceSha256, 64) &&
		isHex(one.signature, 130) &&
		typeof one.name === "string" &&
		Number.isSafeInteger(one.issuedAt) &&
		one.issuedAt >= 0;
	return attestations.every(isOne) ? (found as ProviderAttestations) : null;
}
