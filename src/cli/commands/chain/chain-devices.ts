// `assay chain bind` and `assay chain release`: this provider's GPUs on chain. A validator attests what it
// proved; the chain gives each device to one provider at a time. Page: docs/chain.md §2.

import { callOf, read } from "../../../chain/contracts/contracts.ts";
import {
	type DeviceBinding,
	isDeviceSigned,
	ROLES,
	readAccount,
	readDevice,
	readDevicesOf,
} from "../../../chain/contracts/registry.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import { fetchBounded } from "../../../platform/bounded-fetch.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { bindingsPath, parseBindings } from "../../../validator/settlement/device-bindings.ts";
import { type ChainActor, withProviderChain } from "../../chain/provider-chain.ts";
import { GAS, requireGas } from "../../chain/require-funds.ts";
import type { CliIo } from "../../command.ts";
import { usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { shown } from "../../print/table.ts";
import type { ChainCommandValues } from "./options.ts";

export async function bindDevices(values: ChainCommandValues, io: CliIo): Promise<number> {
	const { validator: url } = values;
	if (url === undefined || !/^https?:\/\//.test(url))
		throw usageError("bind needs --validator, the URL of a validator's API that has probed this provider");
	const wanted = wantedDevices(values);
	return withProviderChain(values, io, async (actor, signer) => {
		const { contracts, account } = actor;
		const self = account.address.toLowerCase() as Hex;
		const { role } = await readAccount(contracts, self);
		if (role !== ROLES.provider)
			throw new AssayError("CHAIN_REFUSED", `the account ${account.address} is not registered as a provider`, {
				hint: "Register it first: assay stake TOKENS --provider",
			});
		const found = await fetchBindings(url, signer.key, actor);
		const attestations = found.attestations.filter(({ device }) => wanted === null || wanted.has(device.toLowerCase()));
		if (attestations.length === 0)
			throw new AssayError(
				"DEVICE_UNATTESTED",
				`${url} attests ${wanted === null ? "no GPU" : "no such GPU"} of this provider`,
				{
					hint: "It does so after a valid probe of a GPU with a UUID, unless the card already counts for another provider there.",
				},
			);
		const { deviceSeconds } = await read(contracts, "registry", "params");
		await requireGas(contracts.client, account, GAS.small * BigInt(attestations.length));
		const bound: (DeviceBinding & { readonly name: string; readonly isNew: boolean })[] = [];
		for (const { device, name, evidenceSha256, issuedAt, signature } of attestations) {
			const before = await readDevice(contracts, device);
			if (before.provider !== null && before.provider !== self)
				throw new AssayError(
					"DEVICE_TAKEN",
					`the device ${device} (${shown(name, 60)}) is bound to ${before.provider}`,
					{
						hint: `Until ${new Date(before.until * 1000).toISOString()}, unless that provider releases it first.`,
					},
				);
			// The same attestation again would be refused as stale; it says nothing new.
			const isNew = issuedAt + Number(deviceSeconds) > before.until;
			const statement = { device, provider: account.address, evidenceSha256, issuedAt: BigInt(issuedAt) };
			const call = callOf(contracts, "registry", "bindDevice", statement, signature);
			if (isNew) await sendCall(contracts.client, account, call);
			bound.push({ ...(await readDevice(contracts, device)), name, isNew });
		}
		const line = ({ device, name, until, isNew }: (typeof bound)[number]) =>
			`${device}  ${shown(name, 40)}  ${isNew ? "bound" : "already bound"} until ${new Date(until * 1000).toISOString()}\n`;
		return printResult(values, io, { account: account.address, devices: bound }, () => bound.map(line).join(""));
	});
}

export async function releaseDevices(values: ChainCommandValues, io: CliIo): Promise<number> {
	const wanted = wantedDevices(values);
	return withProviderChain(values, io, async (actor) => {
		const { contracts, account } = actor;
		const own = await readDevicesOf(contracts, account.address);
		const missing = [...(wanted ?? [])].find((device) => !own.some((one) => one.device.toLowerCase() === device));
		if (missing !== undefined)
			throw new AssayError("CHAIN_REFUSED", `the device ${missing} is not bound to ${account.address}`, {
				hint: "`assay chain status --provider` lists those that are.",
			});
		const released = own.filter(({ device }) => wanted === null || wanted.has(device.toLowerCase()));
		if (released.length > 0) await requireGas(contracts.client, account, GAS.small * BigInt(released.length));
		for (const { device } of released)
			await sendCall(contracts.client, account, callOf(contracts, "registry", "releaseDevice", device));
		const ids = released.map(({ device }) => device);
		return printResult(values, io, { account: account.address, released: ids }, () =>
			ids.length === 0 ? "no device is bound\n" : ids.map((device) => `${device}  released\n`).join(""),
		);
	});
}

const wantedDevices = ({ device }: ChainCommandValues): ReadonlySet<string> | null =>
	device === undefined ? null : new Set(device.map((one) => one.toLowerCase()));

const FETCH_WITHIN_MS = 20_000;
const MAX_BYTES = 1 << 20;

/** Checked here, signatures and all, so that a bad file costs no gas. */
async function fetchBindings(url: string, key: string, { contracts: { addresses }, account }: ChainActor) {
	const unattested = (sentence: string, cause?: unknown) =>
		new AssayError("DEVICE_UNATTESTED", sentence, {
			hint: "Check the URL; the validator must be on the same chain, and have this provider's registration and a valid probe of it.",
			...(cause === undefined ? {} : { cause }),
		});
	const bytes = await fetchBounded(new URL(bindingsPath(key), url), {
		mostBytes: MAX_BYTES,
		withinMs: FETCH_WITHIN_MS,
	}).catch((cause) => {
		throw unattested(`${url} gave no attestations of this provider`, cause);
	});
	const found = bytes === null ? null : parseBindings(bytes);
	if (found === null) throw unattested(`${url} has no attestations of this provider`);
	if (found.chainId !== addresses.chainId || found.registry.toLowerCase() !== addresses.registry.toLowerCase())
		throw unattested(`${url} attests for another chain or other contracts`);
	if (found.provider.toLowerCase() !== account.address.toLowerCase())
		throw unattested(`${url} knows this provider under another account, ${found.provider}`);
	for (const { device, evidenceSha256, issuedAt, signature } of found.attestations) {
		const statement = { device, provider: account.address, evidenceSha256, issuedAt: BigInt(issuedAt) };
		if (!(await isDeviceSigned(addresses, found.validator, statement, signature)))
			throw unattested(`${url} gave an attestation that its validator did not sign`);
	}
	return found;
}
