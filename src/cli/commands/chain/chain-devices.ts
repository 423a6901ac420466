// `assay chain bind` and `assay chain release`: this provider's GPUs on chain. Validators state what they
// have seen proven; the chain gives each device to one provider at a time. Page: docs/chain.md §2.

import { type Contracts, callOf, read } from "../../../chain/contracts/contracts.ts";
import {
	type DeviceBinding,
	isDeviceSigned,
	ROLES,
	readAccount,
	readAccountFor,
	readDevice,
	readDevicesOf,
	statementOf,
} from "../../../chain/contracts/registry.ts";
import { refusedBecause } from "../../../chain/sending/refusal.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import { fetchBounded } from "../../../platform/bounded-fetch.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { DEVICE_KEY_SCHEMA, DEVICE_SCHEMA } from "../../../protocol/chain/device-commitment.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import {
	bindingsPath,
	type ProviderBindings,
	parseBindings,
	type StatedEvidence,
} from "../../../validator/settlement/device-bindings.ts";
import { type ChainActor, withProviderChain } from "../../chain/provider-chain.ts";
import { GAS, requireGas } from "../../chain/require-funds.ts";
import type { CliIo } from "../../command.ts";
import { usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { shown } from "../../print/table.ts";
import type { ChainCommandValues } from "./options.ts";

export async function bindDevices(values: ChainCommandValues, io: CliIo): Promise<number> {
	const urls = values.validator ?? [];
	if (urls.length === 0 || !urls.every((url) => /^https?:\/\//.test(url)))
		throw usageError("bind needs --validator, the URL of a validator's API that has probed this provider");
	const wanted = wantedDevices(values);
	return withProviderChain(values, io, async (actor, { key }) => {
		const { contracts, account } = actor;
		const self = await readAccountFor(contracts, account.address);
		const { role } = await readAccount(contracts, self);
		if (role !== ROLES.provider)
			throw new AssayError("CHAIN_REFUSED", `the account ${self} is not registered as a provider`, {
				hint: "Register it first: assay stake TOKENS --provider",
			});
		const found = (await signedStatements(urls, key, contracts, self)).filter(
			({ device }) => wanted === null || wanted.has(device.toLowerCase()),
		);
		if (found.length === 0)
			throw new AssayError(
				"DEVICE_UNATTESTED",
				`${urls[0]} attests ${wanted === null ? "no GPU" : "no such GPU"} of this provider`,
				{
					hint: "It does so after a valid probe of a GPU with a UUID, unless the card already counts for another provider there.",
				},
			);
		await requireGas(contracts.client, account, GAS.small * BigInt(found.length));
		const bound: BoundDevice[] = [];
		for (const one of found) bound.push(await bindDevice(actor, self, one));
		const line = ({ device, schema, name, until, isNew }: BoundDevice) =>
			`${device}  ${shown(name, 40)}${byKey(schema)}  ${isNew ? "bound" : "already bound"} until ${new Date(until * 1000).toISOString()}\n`;
		return printResult(values, io, { account: self, devices: bound }, () => bound.map(line).join(""));
	});
}

/** Beside its name: that the chain knows it by the key in its silicon. */
export const byKey = (schema: Hex): string => (schema === DEVICE_KEY_SCHEMA ? ", by its key" : "");

type BoundDevice = DeviceBinding & { readonly name: string; readonly isNew: boolean };

/** Throws DEVICE_TAKEN or DEVICE_UNATTESTED. */
async function bindDevice({ contracts, account }: ChainActor, self: Hex, one: SignedStatement): Promise<BoundDevice> {
	const { device, schema, name, issuedAt, signatures } = one;
	const before = await readDevice(contracts, device, schema);
	if (before.provider !== null && before.provider !== self)
		throw new AssayError("DEVICE_TAKEN", `the device ${device} (${shown(name, 60)}) is bound to ${before.provider}`, {
			hint: `Until ${new Date(before.until * 1000).toISOString()}, unless that provider releases it first.`,
		});
	const { deviceSeconds } = await read(contracts, "registry", "params");
	// The same statement again would be refused as stale; it says nothing new.
	const isNew = issuedAt + Number(deviceSeconds) > before.until;
	const statement = statementOf(contracts.addresses, { ...one, provider: self, issuedAt: BigInt(issuedAt) });
	// The contract wants signers ascending.
	const sorted = [...signatures].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, signature]) => signature);
	if (isNew)
		await sendCall(contracts.client, account, callOf(contracts, "registry", "bindDevice", statement, sorted)).catch(
			(cause) => {
				if (refusedBecause(cause) !== "TooFewSigners") throw cause;
				throw new AssayError("DEVICE_UNATTESTED", `too little stake has signed that ${device} is this provider's`, {
					hint: "Name more validators that have probed it: --validator URL --validator URL",
					cause,
				});
			},
		);
	return { ...(await readDevice(contracts, device, schema)), name, isNew };
}

export async function releaseDevices(values: ChainCommandValues, io: CliIo): Promise<number> {
	const wanted = wantedDevices(values);
	return withProviderChain(values, io, async (actor) => {
		const { contracts, account } = actor;
		const self = await readAccountFor(contracts, account.address);
		const own = await readDevicesOf(contracts, self);
		const missing = [...(wanted ?? [])].find((device) => !own.some((one) => one.device.toLowerCase() === device));
		if (missing !== undefined)
			throw new AssayError("CHAIN_REFUSED", `the device ${missing} is not bound to ${self}`, {
				hint: "`assay chain status --provider` lists those that are.",
			});
		const { scoreboard } = contracts.addresses;
		const released = own.filter(({ device }) => wanted === null || wanted.has(device.toLowerCase()));
		if (released.length > 0) await requireGas(contracts.client, account, GAS.small * BigInt(released.length));
		for (const { device, schema } of released) {
			const call = callOf(contracts, "registry", "releaseDevice", scoreboard, schema, device);
			await sendCall(contracts.client, account, call);
		}
		const ids = released.map(({ device }) => device);
		return printResult(values, io, { account: self, released: ids }, () =>
			ids.length === 0 ? "no device is bound\n" : ids.map((device) => `${device}  released\n`).join(""),
		);
	});
}

const wantedDevices = ({ device }: ChainCommandValues): ReadonlySet<string> | null =>
	device === undefined ? null : new Set(device.map((one) => one.toLowerCase()));

const FETCH_WITHIN_MS = 20_000;
const MAX_BYTES = 1 << 20;

interface SignedStatement extends StatedEvidence {
	readonly device: Hex;
	/** By UUID, or by key. */
	readonly schema: Hex;
	readonly name: string;
	/** By signer, in lower case. */
	readonly signatures: ReadonlyMap<Hex, Hex>;
}

const allOf = ({ statements, keys = [] }: ProviderBindings) => [
	...statements.map((one) => ({ ...one, schema: DEVICE_SCHEMA })),
	...keys.map((one) => ({ ...one, schema: DEVICE_KEY_SCHEMA })),
];

/**
 * The first validator's statements, signed by it and by those of the others that have seen the same cards.
 */
async function signedStatements(
	[first, ...others]: readonly string[],
	key: string,
	contracts: Contracts,
	self: Hex,
): Promise<readonly SignedStatement[]> {
	const own = await fetchBindings(first!, bindingsPath(key), contracts, self);
	const signer = own.signer.toLowerCase() as Hex;
	const found = allOf(own).map((one) => ({ ...one, signatures: new Map([[signer, one.signature]]) }));
	const stated = found[0];
	if (stated === undefined) return [];
	for (const url of others) {
		const more = await fetchBindings(url, bindingsPath(key, stated), contracts, self);
		for (const { device, schema, evidenceSha256, issuedAt, signature } of allOf(more)) {
			const isSame = (one: SignedStatement) => one.evidenceSha256 === evidenceSha256 && one.issuedAt === issuedAt;
			found
				.find((one) => one.device === device && one.schema === schema && isSame(one))
				?.signatures.set(more.signer.toLowerCase() as Hex, signature);
		}
	}
	return found;
}

/** Checked here, signatures and all, so that a bad file costs no gas. */
async function fetchBindings(url: string, path: string, { addresses }: Contracts, self: Hex) {
	const unattested = (sentence: string, cause?: unknown) =>
		new AssayError("DEVICE_UNATTESTED", sentence, {
			hint: "Check the URL; the validator must be on the same chain, and have this provider's registration and a valid probe of it.",
			...(cause === undefined ? {} : { cause }),
		});
	const bytes = await fetchBounded(new URL(path, url), { mostBytes: MAX_BYTES, withinMs: FETCH_WITHIN_MS }).catch(
		(cause) => {
			throw unattested(`${url} gave no statements on this provider`, cause);
		},
	);
	const found = bytes === null ? null : parseBindings(bytes);
	if (found === null) throw unattested(`${url} has no statements on this provider`);
	if (found.chainId !== addresses.chainId || found.registry.toLowerCase() !== addresses.registry.toLowerCase())
		throw unattested(`${url} attests for another chain or other contracts`);
	if (found.provider.toLowerCase() !== self)
		throw unattested(`${url} knows this provider under another account, ${found.provider}`);
	for (const { device, schema, evidenceSha256, issuedAt, signature } of allOf(found)) {
		const statement = { device, schema, provider: self, evidenceSha256, issuedAt: BigInt(issuedAt) };
		if (!isDeviceSigned(addresses, found.signer, statement, signature))
			throw unattested(`${url} gave a statement that its validator did not sign`);
	}
	return found;
}
