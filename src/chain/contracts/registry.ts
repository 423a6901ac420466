// Registry.sol: who takes part, with what stake and which devices; and what a validator signs of a device.
// The rest is `read` and `callOf` of contracts.ts by name; docs/chain.md.
import { type Hex, verifyTypedData } from "viem";
import type { Call, ChainAccount } from "../sending/sign.ts";
import { type ContractAddresses, type Contracts, callOf, read, readEvents, readPending } from "./contracts.ts";

export const ROLES = { none: 0, provider: 1, validator: 2 } as const;

export interface RegistryAccount {
	readonly role: number;
	readonly stake: bigint;
	readonly unbonding: bigint;
	/** Seconds since 1970; 0 when nothing is being unstaked. */
	readonly unlockAt: number;
	readonly signingKey: Hex;
	readonly endpoint: string;
}

export async function readAccount(contracts: Contracts, account: Hex): Promise<RegistryAccount> {
	const found = await read(contracts, "registry", "accountOf", account);
	return { ...found, unlockAt: Number(found.unlockAt) };
}

/** Lets the Registry take this much from the sender's tokens. */
export const approveCall = (contracts: Pick<Contracts, "addresses">, amount: bigint): Call =>
	callOf(contracts, "token", "approve", contracts.addresses.registry, amount);

export interface Registration {
	readonly role: "provider" | "validator";
	readonly signingKey: Hex;
	readonly keyProof: Hex;
	readonly endpoint: string;
	readonly amount: bigint;
}

export const registerCall = (
	contracts: Pick<Contracts, "addresses">,
	{ role, signingKey, keyProof, endpoint, amount }: Registration,
): Call => callOf(contracts, "registry", "register", ROLES[role], signingKey, keyProof, endpoint, amount);

/**
 * "This provider proved this device in this evidence", by a validator: Registry.DeviceAttestation, whose name
 * is signed with it. `issuedAt` in seconds since 1970.
 */
export interface DeviceStatement {
	readonly device: Hex;
	readonly provider: Hex;
	readonly evidenceSha256: Hex;
	readonly issuedAt: bigint;
}

const STATEMENT_TYPES = {
	DeviceAttestation: [
		{ name: "device", type: "bytes32" },
		{ name: "provider", type: "address" },
		{ name: "evidenceSha256", type: "bytes32" },
		{ name: "issuedAt", type: "uint64" },
	],
} as const;

const statementData = ({ chainId, registry }: ContractAddresses, message: DeviceStatement) =>
	({
		domain: { name: "assay", version: "1", chainId, verifyingContract: registry },
		types: STATEMENT_TYPES,
		primaryType: "DeviceAttestation",
		message,
	}) as const;

export const signDevice = (account: ChainAccount, addresses: ContractAddresses, statement: DeviceStatement) =>
	account.signTypedData(statementData(addresses, statement));

/** False for whatever is no signature of this validator over it. */
export const isDeviceSigned = (
	addresses: ContractAddresses,
	validator: Hex,
	statement: DeviceStatement,
	signature: Hex,
): Promise<boolean> =>
	verifyTypedData({ address: validator, ...statementData(addresses, statement), signature }).catch(() => false);

export interface DeviceBinding {
	readonly device: Hex;
	/** Null: it is free. */
	readonly provider: Hex | null;
	/** Seconds since 1970; 0 when it is free. */
	readonly until: number;
}

export async function readDevice(contracts: Contracts, device: Hex): Promise<DeviceBinding> {
	// A binding ends by the clock, and the newest block may be old.
	const [provider, until] = await readPending(contracts, "registry", "deviceOf", device);
	const isFree = BigInt(provider) === 0n;
	return { device, provider: isFree ? null : (provider.toLowerCase() as Hex), until: Number(until) };
}

/** Devices that are bound to this provider now: those of its events that still are. */
export async function readDevicesOf(contracts: Contracts, provider: Hex): Promise<readonly DeviceBinding[]> {
	const logs = await readEvents(contracts, "registry", "DeviceBound", { provider });
	const devices = [...new Set(logs.map(({ args }) => args.device))].sort();
	const now = await Promise.all(devices.map((device) => readDevice(contracts, device)));
	return now.filter((one) => one.provider === provider.toLowerCase());
}
