// What binds a provider's GPUs to it on chain: one EIP-712 statement a card of its last valid probe, and one
// a key that its cards signed with, signed when somebody asks and the same for whoever asks, so nothing is
// kept that could be lost. Public, like the evidence it names. The chain wants the signatures of more than a
// third of the stake under one statement: so a validator also signs another's, of a card that it has seen
// prove itself too. What the chain makes of them: docs/chain.md §2.
import type { ContractAddresses } from "../../chain/contracts/contracts.ts";
import { signDevice } from "../../chain/contracts/registry.ts";
import type { ProviderBook } from "../../chain/history/provider-book.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { creditUuids } from "../../market/scores/credit-uuids.ts";
import { DEVICE_KEY_SCHEMA, deviceCommitment, normalDeviceUuid } from "../../protocol/chain/device-commitment.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { CountedAttestation } from "../../protocol/probe/verdict.ts";
import { createScoreKeeper } from "../scoring/score-keeper.ts";
import type { ValidatorContext } from "../validator-context.ts";

/** As it is served; `parseBindings` reads it. */
export interface ProviderBindings {
	readonly version: 2;
	readonly chainId: number;
	readonly registry: Hex;
	/** The validator's key that signed. */
	readonly signer: Hex;
	/** The provider's account. */
	readonly provider: Hex;
	readonly statements: readonly SignedBinding[];
	/**
	 * Of the keys that its devices signed with (docs/attestation.md), under their own schema. Absent where
	 * nothing is bound.
	 */
	readonly keys?: readonly SignedBinding[];
}

interface SignedBinding extends StatedEvidence {
	readonly device: Hex;
	/** How the provider calls it: a claim. */
	readonly name: string;
	readonly signature: Hex;
}

const LOOK_EVERY_MS = 1000;
const PATH = /^\/chain\/devices\/([0-9a-f]{64})(?:\/([0-9a-f]{64})-(\d{1,12}))?\.json$/;

/** Of a statement: whoever made it, others sign it as it is. */
export interface StatedEvidence {
	readonly evidenceSha256: Hex;
	/** When the probe ended, seconds since 1970. */
	readonly issuedAt: number;
}

/** With another validator's evidence: the file with signatures under that one's statements. */
export const bindingsPath = (providerKey: string, of?: StatedEvidence): string =>
	`/chain/devices/${providerKey}${of === undefined ? "" : `/${of.evidenceSha256.slice(2)}-${of.issuedAt}`}.json`;

/** Beside this validator's own probe: a statement of another time says nothing that it has seen. */
const MOST_APART_S = 3 * 86_400;

export interface DeviceBindingsOptions extends Pick<ValidatorContext, "store" | "config" | "env" | "hub"> {
	readonly addresses: ContractAddresses;
	readonly account: ChainAccount;
	readonly book: Pick<ProviderBook, "accountOf" | "refresh">;
}

/** Keys that count for this provider. Those under simulated roots are anybody's. */
function keysOf(attestation: CountedAttestation | null): readonly { readonly key: string; readonly chip: string }[] {
	if (attestation === null || attestation.isSimulated) return [];
	const elsewhere = new Set(attestation.elsewhere.map(({ key }) => key));
	return attestation.devices.filter(({ key, level }) => level !== "none" && !elsewhere.has(key));
}

/** By path. Null: another path, no such provider, or it has no account on chain. */
export function createDeviceBindings(
	options: DeviceBindingsOptions,
): (path: string) => Promise<ProviderBindings | null> {
	const { store, addresses, account, book, env } = options;
	const scores = createScoreKeeper(options);
	let lookedAtMs = Number.NEGATIVE_INFINITY;
	/** A provider that just registered asks at once; asking all day must not keep the node busy. */
	async function look(): Promise<void> {
		if (env.nowMs() - lookedAtMs < LOOK_EVERY_MS) return;
		lookedAtMs = env.nowMs();
		await book.refresh();
	}
	return async (path) => {
		const [, key, evidence, time] = PATH.exec(path) ?? [];
		const provider = key === undefined ? null : await store.providers.recall(key);
		if (provider === null || provider.state === "removed") return null;
		if (book.accountOf(provider.id) === null) await look();
		const owner = book.accountOf(provider.id);
		if (owner === null) return null;
		const kept = provider.memory.proof;
		const probe = kept === null ? null : await store.probes.get(kept.probeId);
		const base = {
			version: 2,
			chainId: addresses.chainId,
			registry: addresses.registry,
			signer: account.address,
			provider: owner,
		} as const;
		if (kept === null || probe === null || probe.finishedAtMs === null) return { ...base, statements: [] };
		const own = { evidenceSha256: `0x${kept.evidence}` as Hex, issuedAt: Math.floor(probe.finishedAtMs / 1000) };
		const of = evidence === undefined ? own : { evidenceSha256: `0x${evidence}` as Hex, issuedAt: Number(time) };
		const isNear = Math.abs(of.issuedAt - own.issuedAt) <= MOST_APART_S && of.issuedAt <= env.nowMs() / 1000;
		if (!isNear) return { ...base, statements: [] };
		const elsewhere = new Set(
			(creditUuids(await scores.viewsAround(provider)).get(provider.id) ?? []).map(normalDeviceUuid),
		);
		const vouch = async (device: Hex, name: string, schema?: Hex): Promise<SignedBinding> => {
			const statement = { ...of, device, provider: owner, issuedAt: BigInt(of.issuedAt), ...(schema && { schema }) };
			return { ...of, device, name, signature: await signDevice(account, addresses, statement) };
		};
		const bindings = new Map<Hex, SignedBinding>();
		for (const { kind, uuid, device: index, claimedName } of probe.devices) {
			const device = kind === "gpu" ? deviceCommitment(uuid) : null;
			// A card of which nothing was proven, or that counts for somebody else, is left out.
			const isProven = probe.figures.some((figure) => figure.device === index && figure.value > 0);
			if (device === null || !isProven || elsewhere.has(normalDeviceUuid(uuid))) continue;
			bindings.set(device, await vouch(device, claimedName));
		}
		const keys: SignedBinding[] = [];
		for (const { key: hash, chip } of keysOf(probe.attestation))
			keys.push(await vouch(`0x${hash}`, chip, DEVICE_KEY_SCHEMA));
		return { ...base, statements: [...bindings.values()], keys };
	};
}

const MAX_DEVICES = 256;
const isHex = (value: unknown, digits: number): value is Hex =>
	typeof value === "string" && value.length === digits + 2 && /^0x[0-9a-fA-F]+$/.test(value);

/** Hostile bytes: null for anything but such a file. The caller checks the signatures. */
export function parseBindings(bytes: Uint8Array): ProviderBindings | null {
	let found: Partial<ProviderBindings>;
	try {
		found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as Partial<ProviderBindings>;
	} catch {
		return null;
	}
	const { version, chainId, registry, signer, provider, statements, keys = [] } = found ?? {};
	if (version !== 2 || !Number.isSafeInteger(chainId) || !isHex(registry, 40) || !isHex(signer, 40)) return null;
	if (!isHex(provider, 40) || !Array.isArray(statements) || statements.length > MAX_DEVICES) return null;
	if (!Array.isArray(keys) || keys.length > MAX_DEVICES) return null;
	const isOne = (one: SignedBinding | null) =>
		one !== null &&
		typeof one === "object" &&
		isHex(one.device, 64) &&
		isHex(one.evidenceSha256, 64) &&
		isHex(one.signature, 130) &&
		typeof one.name === "string" &&
		Number.isSafeInteger(one.issuedAt) &&
		one.issuedAt >= 0;
	return statements.every(isOne) && keys.every(isOne) ? (found as ProviderBindings) : null;
}
