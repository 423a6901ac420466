// Where a validator's chain lives: an embedded one in the data folder, with its contracts deployed and this
// validator staked at the first start; or any node by its URL, with contracts that somebody deployed. Also
// the account's key. Page: docs/chain.md.
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type ContractAddresses, type Contracts, callOf, contractsOn } from "../../chain/contracts/contracts.ts";
import { approveCall, ROLES, readAccount, readAccountFor, registerCall } from "../../chain/contracts/registry.ts";
import { createChainClient } from "../../chain/node/chain-client.ts";
import { defaultConfirmations } from "../../chain/node/default-confirmations.ts";
import { type EmbeddedChain, openEmbeddedChain } from "../../chain/node/embedded-chain.ts";
import { httpRpc, withRetries } from "../../chain/node/http-rpc.ts";
import { createLateness, type Lateness } from "../../chain/node/never-behind.ts";
import type { Rpc } from "../../chain/node/rpc.ts";
import { serveRpc } from "../../chain/node/serve-rpc.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { sleep } from "../../platform/abortable.ts";
import { makeFolder, readIfPresent, removeDrafts, writeDurably } from "../../platform/durable-file.ts";
import { loadAccountKey } from "../../platform/key-file.ts";
import { isRunning, markOwnProcess, type ProcessMark } from "../../platform/living-process.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { embeddedChainId } from "../../protocol/chain/embedded-chain-id.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { signChainKey } from "../../protocol/chain/key-binding.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import { deployEmbedded, findStranded, firstGenesis } from "./deploy-embedded.ts";
import type { ChainSettings } from "./settings.ts";

export interface ChainHome {
	readonly contracts: Contracts;
	readonly account: ChainAccount;
	readonly folder: string;
	readonly saltSecret: Uint8Array;
	/** Also for other programs of this machine. */
	readonly url: string;
	/** Without a secret: where everybody may read the chain, and their wallets send. */
	readonly publicUrl: string | null;
	readonly isEmbedded: boolean;
	/** The embedded chain runs in this process: whoever ran it before has ended. */
	readonly isHost: boolean;
	/** Since when somebody waits for a node that is behind. */
	readonly lateness: Lateness;
	/** For providers without an account, on the embedded chain; its owner has the keys. Null elsewhere. */
	readonly keptAccountOf: ((providerKey: string) => ChainAccount) | null;
	/** A question to a node that does not answer, or a wait for its blocks, ends now with CHAIN_CLOSED. */
	stopWaiting(): void;
	close(): Promise<void>;
}

export interface HomeOptions {
	readonly dataDir: string;
	readonly settings: ChainSettings;
	/** False: the chain is there already; nothing is deployed. */
	readonly mayDeploy: boolean;
	readonly nowMs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
}

export const chainFolder = (dataDir: string): string => join(dataDir, "chain");

/** The treasurer holds the embedded chain's money. Throws AssayError KEY_UNUSABLE. */
export const loadChainKey = (
	folder: string,
	name: "account" | "treasurer",
	randomBytes: (size: number) => Uint8Array,
): Promise<Uint8Array> =>
	loadAccountKey({
		path: join(folder, `${name}.key`),
		name: `the key of the ${name} on the chain`,
		elsewhere: "Name with --data",
		randomBytes,
	});

const UNIT = 10n ** 18n;

export async function openChainHome(options: HomeOptions): Promise<ChainHome> {
	const { dataDir, settings, mayDeploy, nowMs, randomBytes } = options;
	const { rpcUrl } = settings;
	const folder = chainFolder(dataDir);
	await makeFolder(folder);
	await removeDrafts(folder);
	const secret = await loadChainKey(folder, "account", randomBytes);
	const account = accountOf(toHex(secret));
	const closing: (() => Promise<void>)[] = [];
	const stopped = new AbortController();
	const { signal } = stopped;
	const lateness = createLateness(nowMs);
	const connect = (url: string) => withRetries(httpRpc(url, { signal }), { signal, lateness });
	try {
		const treasury = rpcUrl === null ? await loadChainKey(folder, "treasurer", randomBytes) : null;
		const treasurer = treasury && accountOf(toHex(treasury));
		const open = (waitMs: number): Promise<EmbeddedChain> =>
			openEmbeddedChain({
				folder: join(folder, "embedded"),
				genesis: {
					chainId: embeddedChainId(new DataView(randomBytes(4).buffer).getUint32(0)),
					timestamp: Math.floor(nowMs() / 1000),
					treasurer: treasurer!.address.toLowerCase(),
				},
				nowMs,
				waitMs,
			});
		const node =
			rpcUrl === null
				? await openEmbedded(open, join(folder, "rpc.json"), !mayDeploy, connect, closing)
				: { rpc: connect(rpcUrl), url: rpcUrl, isOurs: false };
		const client = await createChainClient(node.rpc, {
			confirmations: settings.confirmations ?? (treasurer === null ? await defaultConfirmations(node.rpc) : 1),
			pollMs: treasurer === null ? 2000 : 50,
			mostFeePerGas: BigInt(settings.mostFeeGwei) * 1_000_000_000n,
			...(treasurer === null ? { signal } : {}),
		});
		const kept = settings.contracts ?? (await readContracts(contractsPath(folder, treasurer === null)));
		let contracts = kept && (await contractsOn(client, kept));
		if (treasurer !== null && mayDeploy && (contracts === null || node.isOurs)) {
			const { firstEpochSeconds } = settings;
			const nowS = Math.floor(nowMs() / 1000);
			const owned = [account.address, ...(await localProvider(dataDir))];
			const stranded = contracts && (await findStranded(contracts, owned, firstEpochSeconds, nowS));
			// Leaves of epochs of the contracts that are given up.
			if (stranded !== null) await rm(join(folder, "epochs"), { recursive: true, force: true });
			if (contracts === null || stranded !== null) {
				const genesis = firstGenesis(stranded?.epoch ?? 0, settings.epochSeconds, firstEpochSeconds, nowS);
				const { epochSeconds, windowSeconds, rollCalls } = settings;
				contracts = await deployEmbedded(client, treasurer, { genesis, epochSeconds, windowSeconds, rollCalls });
				// Last: a deployment that was cut short starts over.
				await writeDurably(contractsPath(folder, false), `${JSON.stringify(contracts.addresses)}\n`);
			}
		}
		if (contracts === null) throw noContracts(client.chainId, dataDir, account.address);
		return {
			contracts,
			account,
			folder,
			saltSecret: keccak(utf8ToBytes("assay/salt/1"), secret),
			url: node.url,
			publicUrl: treasurer === null ? settings.publicRpcUrl : withoutLogin(node.url),
			isEmbedded: treasurer !== null,
			isHost: node.isOurs,
			lateness,
			keptAccountOf: treasury && ((key) => keptAccount(treasury, key)),
			stopWaiting: () => stopped.abort(),
			close: async () => {
				stopped.abort();
				for (const close of closing.splice(0).reverse()) await close();
			},
		};
	} catch (error) {
		for (const close of closing.splice(0).reverse()) await close().catch(() => {});
		throw error;
	}
}

const keptAccount = (treasury: Uint8Array, providerKey: string): ChainAccount =>
	accountOf(toHex(keccak(utf8ToBytes("assay/kept/1"), treasury, hexToBytes(providerKey, 32) ?? new Uint8Array(32))));

const noContracts = (chainId: number, dataDir: string, own: Hex): AssayError =>
	new AssayError("CHAIN_MISSING", `no contracts are known for chain ${chainId}`, {
		hint:
			`Name a network's with --contracts FILE (its validators give it out at /chain/contracts.json), or begin one: \`assay chain deploy --rpc URL --data ${dataDir}\`, ` +
			`paid by account ${own}, which needs the chain's own coin for gas; then \`assay stake 10000 --endpoint URL-OF-THIS-API --rpc URL --data ${dataDir}\`.`,
	});

interface Node {
	readonly rpc: Rpc;
	readonly url: string;
	/** The embedded chain, and in this process. */
	readonly isOurs: boolean;
}

/** `place`: rpc.json. `isShort`: opened by a command, which waits for nobody. */
async function openEmbedded(
	open: (waitMs: number) => Promise<EmbeddedChain>,
	place: string,
	isShort: boolean,
	connect: (url: string) => Rpc,
	closing: (() => Promise<void>)[],
): Promise<Node> {
	let chain: EmbeddedChain;
	try {
		chain = await (isShort ? open(0) : openOnceFree(open, place));
	} catch (error) {
		// Another process of this data folder runs it: through its RPC server.
		if (!isBusy(error)) throw error;
		const url = await openDoor(place, error);
		return { rpc: connect(url), url, isOurs: false };
	}
	closing.push(() => chain.close());
	const server = await serveRpc(chain.rpc);
	closing.push(() => server.close());
	const door: Door = { url: server.url, isShort, ...(await markOwnProcess()) };
	await writeDurably(place, `${JSON.stringify(door)}\n`);
	return { rpc: chain.rpc, url: server.url, isOurs: true };
}

/** rpc.json: where the process answers that runs the chain, and which one it is. */
interface Door extends Partial<ProcessMark> {
	readonly url?: string;
	/** A command's, which mostly ends soon. */
	readonly isShort?: boolean;
}
const readDoor = async (place: string): Promise<Door> => JSON.parse(String((await readIfPresent(place)) ?? "{}"));

/** Most commands have the chain for a second or two, longer on a busy machine; another validator keeps it. */
const BUSY_MS = 6000;
const BUSY_TRIES = 10;

/** A validator that used the chain of a command would lose it when that command ends. */
async function openOnceFree(open: (waitMs: number) => Promise<EmbeddedChain>, place: string): Promise<EmbeddedChain> {
	for (let left = BUSY_TRIES; ; left--)
		try {
			return await open(BUSY_MS);
		} catch (error) {
			const { isShort = false, ...mark } = isBusy(error) ? await readDoor(place) : {};
			if (left <= 1 || !isShort || !(await isRunning(mark))) throw error;
		}
}

/** Where the process that runs the chain answers; waits until it has replaced an earlier one's address. */
const openDoor = (place: string, busy: unknown): Promise<string> =>
	tried(async () => {
		const { url = "", ...mark } = await readDoor(place);
		// ATTACK: another user's program may listen where an earlier one did, and answer lies.
		if (!(await isRunning(mark))) throw busy;
		await httpRpc(url)("eth_chainId", []);
		return url;
	}).catch(() => {
		throw busy;
	});

const isBusy = (error: unknown) => error instanceof AssayError && error.code === "CHAIN_BUSY";
const DOOR_TRIES = 40;
const DOOR_EVERY_MS = 150;

async function tried<T>(act: () => Promise<T>): Promise<T> {
	for (let left = DOOR_TRIES; ; left--) {
		try {
			return await act();
		} catch (error) {
			if (left <= 1) throw error;
			await sleep(DOOR_EVERY_MS);
		}
	}
}

/** The account of this machine's own provider under `assay up`, which registers again by itself. */
async function localProvider(dataDir: string): Promise<readonly Hex[]> {
	const secret = hexToBytes(
		String((await readIfPresent(join(dataDir, "provider", "chain-account.key"))) ?? "").trim(),
		32,
	);
	return secret === null ? [] : [accountOf(toHex(secret)).address];
}

/** A folder may know an embedded chain and another one. */
export const contractsPath = (folder: string, isExternal: boolean): string =>
	join(folder, isExternal ? "contracts-external.json" : "contracts.json");

export async function readContracts(path: string): Promise<ContractAddresses | null> {
	const text = await readIfPresent(path);
	return text === null ? null : (JSON.parse(String(text)) as ContractAddresses);
}

/** On the embedded chain only; elsewhere the operator stakes. False: no stake. Safe to repeat. */
export async function ensureStaked(
	home: ChainHome,
	signer: Signer,
	endpoint: string,
	stakeTokens: number,
): Promise<boolean> {
	const { contracts, account } = home;
	const treasurer = await treasurerOf(home);
	const { client, addresses } = contracts;
	const { role, stake } = await readAccount(contracts, await readAccountFor(contracts, account.address));
	if (role === ROLES.validator && stake > 0n) return true;
	if (treasurer === null || role !== ROLES.none) return false;
	const amount = BigInt(stakeTokens) * UNIT;
	await sendCall(client, treasurer, { to: account.address, data: "0x", value: 1000n * UNIT });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, amount));
	await sendCall(client, account, approveCall(contracts, amount));
	const signingKey = `0x${signer.key}` as const;
	const keyNumber = Date.now();
	const keyProof = signChainKey(signer, { ...addresses, account: account.address, number: keyNumber });
	const registration = { role: "validator", signingKey, keyNumber, keyProof, endpoint, amount } as const;
	await sendCall(client, account, registerCall(contracts, registration));
	return true;
}

/**
 * On the embedded chain the address that others find this validator at follows it: a second start may listen
 * on another port. Elsewhere its owner says what is reachable from outside (`assay chain endpoint`), and a
 * process behind a proxy cannot know.
 */
export async function keepEndpoint({ contracts, account, isEmbedded }: ChainHome, url: string): Promise<void> {
	if (!isEmbedded) return;
	const { role, endpoint } = await readAccount(contracts, await readAccountFor(contracts, account.address));
	if (role === ROLES.validator && endpoint !== url)
		await sendCall(contracts.client, account, callOf(contracts, "registry", "setEndpoint", url));
}

export async function treasurerOf(home: Pick<ChainHome, "folder" | "isEmbedded">): Promise<ChainAccount | null> {
	if (!home.isEmbedded) return null;
	return accountOf(`0x${(await readFile(join(home.folder, "treasurer.key"), "utf8")).trim()}` as Hex);
}
