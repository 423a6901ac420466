// Registry.sol: who takes part, with what keys, stake and devices, and who may take that stake; what a signer
// signs to speak for an account, and what validators sign of a device. The rest is `read` and `callOf` of
// contracts.ts by name; docs/chain.md.
import type { Hex } from "viem";
import { DEVICE_KEY_SCHEMA, DEVICE_SCHEMA } from "../../protocol/chain/device-commitment.ts";
import { isSignedBy, typedDigest } from "../../protocol/chain/typed-data.ts";
import type { Call, ChainAccount } from "../sending/sign.ts";
import { type ContractAddresses, type Contracts, callOf, read, readEvents, readPending } from "./contracts.ts";

export const ROLES = { none: 0, provider: 1, validator: 2 } as const;
const NOBODY: Hex = `0x${"0".repeat(40)}`;
/** All of it: what a contract takes is fixed in its code. */
const ALL_PPM = 1_000_000;

export interface RegistryAccount {
	readonly role: number;
	readonly stake: bigint;
	readonly unbonding: bigint;
	/** Held by lockers: counts as no stake, can be slashed. */
	readonly locked: bigint;
	/** Seconds since 1970; 0 when nothing is being unstaked. */
	readonly unlockAt: number;
	/** The hot key that speaks for it. */
	readonly signer: Hex;
	/** Where its rewards go. */
	readonly payout: Hex;
	readonly signingKey: Hex;
	readonly endpoint: string;
}

/** By the owner's address. */
export async function readAccount(contracts: Contracts, account: Hex): Promise<RegistryAccount> {
	const found = await read(contracts, "registry", "accountOf", account);
	return { ...found, unlockAt: Number(found.unlockAt) };
}

/** The account that a key speaks for, or once did; its own address when it never did. In lower case. */
export async function readAccountFor(contracts: Contracts, signer: Hex): Promise<Hex> {
	const account = await read(contracts, "registry", "accountOfSigner", signer);
	return (BigInt(account) === 0n ? signer : account).toLowerCase() as Hex;
}

/** Lets the Registry take this much from the sender's tokens. */
export const approveCall = (contracts: Pick<Contracts, "addresses">, amount: bigint): Call =>
	callOf(contracts, "token", "approve", contracts.addresses.registry, amount);

/** Who may take what of an account's stake. */
export interface Allowance {
	readonly slasher: Hex;
	/** Most of all that is there, at a time. */
	readonly mostPpm: number;
	/** Most that it may hold locked. */
	readonly mostLocked: bigint;
}

export interface Registration {
	readonly role: "provider" | "validator";
	readonly signingKey: Hex;
	/** As in `keyProof`; of several proofs of a key the highest number counts. */
	readonly keyNumber?: number;
	readonly keyProof: Hex;
	readonly endpoint: string;
	readonly amount: bigint;
	/** With the signer's consent (signConsent); absent: the owner itself. */
	readonly signer?: { readonly address: Hex; readonly consent: Hex };
	/** Absent: the owner. */
	readonly payout?: Hex;
	/** Absent: what the network asks for. */
	readonly allowances?: readonly Allowance[];
}

/**
 * What validators ask of a provider before they score it: that Slashing and RollCall may take what they take.
 */
export const networkAllowances = ({ slashing, rollCall }: ContractAddresses): readonly Allowance[] =>
	[slashing, rollCall].map((slasher) => ({ slasher, mostPpm: ALL_PPM, mostLocked: 0n }));

export function registerCall(contracts: Pick<Contracts, "addresses">, entry: Registration): Call {
	const { role, signingKey, keyProof, endpoint, amount, signer } = entry;
	const isProvider = role === "provider";
	return callOf(contracts, "registry", "register", {
		role: ROLES[role],
		signer: signer?.address ?? NOBODY,
		signerConsent: signer?.consent ?? "0x",
		payout: entry.payout ?? NOBODY,
		electorate: isProvider ? NOBODY : contracts.addresses.scoreboard,
		signingKey,
		keyNumber: BigInt(entry.keyNumber ?? 0),
		keyProof,
		endpoint,
		amount,
		allowances: [...(entry.allowances ?? (isProvider ? networkAllowances(contracts.addresses) : []))],
	});
}

/** "I speak for this account", for ever: a signer's word to its owner. */
export const signConsent = (
	signer: ChainAccount,
	{ chainId, registry }: ContractAddresses,
	account: Hex,
): Promise<Hex> =>
	signer.signTypedData({
		domain: { name: "assay", version: "1", chainId, verifyingContract: registry },
		types: { SignerConsent: [{ name: "account", type: "address" }] },
		primaryType: "SignerConsent",
		message: { account },
	});

/** "This provider proved this device in this evidence", by validators. `issuedAt` in seconds since 1970. */
export interface DeviceStatement {
	readonly device: Hex;
	readonly provider: Hex;
	readonly evidenceSha256: Hex;
	readonly issuedAt: bigint;
	/** What `device` is a name by; absent: by the UUID. */
	readonly schema?: Hex;
}

/** As the contract has it: in this network. */
export const statementOf = ({ scoreboard }: ContractAddresses, statement: DeviceStatement) => ({
	device: statement.device,
	provider: statement.provider,
	electorate: scoreboard,
	schema: statement.schema ?? DEVICE_SCHEMA,
	evidenceSha256: statement.evidenceSha256,
	issuedAt: statement.issuedAt,
});

const STATEMENT_TYPES = {
	DeviceStatement: [
		{ name: "device", type: "bytes32" },
		{ name: "provider", type: "address" },
		{ name: "electorate", type: "address" },
		{ name: "schema", type: "bytes32" },
		{ name: "evidenceSha256", type: "bytes32" },
		{ name: "issuedAt", type: "uint64" },
	],
} as const;
const STATEMENT = `DeviceStatement(${STATEMENT_TYPES.DeviceStatement.map(({ type, name }) => `${type} ${name}`)})`;

export const signDevice = (signer: ChainAccount, addresses: ContractAddresses, statement: DeviceStatement) =>
	signer.signTypedData({
		domain: { name: "assay", version: "1", chainId: addresses.chainId, verifyingContract: addresses.registry },
		types: STATEMENT_TYPES,
		primaryType: "DeviceStatement",
		message: statementOf(addresses, statement),
	});

/** False for whatever the contract would not take as this signer's. */
export function isDeviceSigned(
	addresses: ContractAddresses,
	signer: Hex,
	statement: DeviceStatement,
	signature: Hex,
): boolean {
	const fields = Object.values(statementOf(addresses, statement));
	return isSignedBy(signer, typedDigest(addresses.chainId, addresses.registry, STATEMENT, fields), signature);
}

export interface DeviceBinding {
	readonly device: Hex;
	/** What `device` is a name by. */
	readonly schema: Hex;
	/** Null: it is free. */
	readonly provider: Hex | null;
	/** Seconds since 1970; 0 when it is free. */
	readonly until: number;
}

export async function readDevice(
	contracts: Contracts,
	device: Hex,
	schema: Hex = DEVICE_SCHEMA,
): Promise<DeviceBinding> {
	// A binding ends by the clock, and the newest block may be old.
	const { scoreboard } = contracts.addresses;
	const [provider, until] = await readPending(contracts, "registry", "deviceOf", scoreboard, schema, device);
	const isFree = BigInt(provider) === 0n;
	return { device, schema, provider: isFree ? null : (provider.toLowerCase() as Hex), until: Number(until) };
}

/** Devices that are bound to this provider now: those of its events that still are. */
export async function readDevicesOf(contracts: Contracts, provider: Hex): Promise<readonly DeviceBinding[]> {
	const logs = await readEvents(contracts, "registry", "DeviceBound", {
		provider,
		electorate: contracts.addresses.scoreboard,
	});
	const now: DeviceBinding[] = [];
	for (const schema of [DEVICE_SCHEMA, DEVICE_KEY_SCHEMA]) {
		const devices = logs.flatMap(({ args }) => (args.schema === schema ? [args.device] : []));
		const sorted = [...new Set(devices)].sort();
		now.push(...(await Promise.all(sorted.map((device) => readDevice(contracts, device, schema)))));
	}
	return now.filter((one) => one.provider === provider.toLowerCase());
}
