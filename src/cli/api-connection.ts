// How a command reaches a validator's API, and as whom: by --api, ASSAY_API or the network that runs on this machine; with ASSAY_TOKEN, the local
// network's own admin token, or a customer's key. A token of this machine's network is never sent to any other address.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { ApiClient } from "../api/create-client.ts";
import { loadKeyFile } from "../platform/key-file.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { CliIo } from "./command.ts";
import { defaultDataDir } from "./data-folder.ts";
import { usageError } from "./parse-options.ts";
import { readRunningUp } from "./up/up-file.ts";

/** Where `assay up` begins to look for a free port. */
export const DEFAULT_PORT = 4747;

export const apiOptions = {
	options: {
		api: { type: "string" },
		data: { type: "string" },
		key: { type: "string" },
		json: { type: "boolean", default: false },
	},
	help: `  --api URL         the validator's API (or ASSAY_API; default: the network of assay up on this machine)
  --data FOLDER     where that network's data are, for its address and its admin's token
  --json            what the API said, as JSON on standard output`,
} as const;

interface ApiValues {
	readonly api?: string | undefined;
	readonly data?: string | undefined;
	readonly key?: string | undefined;
}

export interface ApiConnection {
	readonly client: ApiClient;
	readonly url: string;
	/** Whom signed requests name as the caller; null: a token, or nobody. */
	readonly caller: string | null;
}

/** `customer`: signs with the customer's key, unless a token was given. `owner`: by token. */
export async function openApi(
	command: string,
	values: ApiValues,
	io: CliIo,
	as: "owner" | "customer" = "owner",
): Promise<ApiConnection> {
	const dataDir = resolve(io.cwd, values.data ?? defaultDataDir(io.env));
	const local = await readRunningUp(dataDir);
	// Whoever names a folder means the network that runs from it, not whichever happens to be on this machine.
	if (values.data !== undefined && values.api === undefined && local?.url == null)
		throw new AssayError("API_UNREACHABLE", `no network runs from ${dataDir}`, {
			hint: `Start one with \`assay up --data ${values.data}\`, or name a validator with --api URL.`,
		});
	const named = values.api ?? (io.env.ASSAY_API || undefined);
	const url = named === undefined ? (local?.url ?? `http://127.0.0.1:${DEFAULT_PORT}`) : parseApiUrl(command, named);
	const isLocal = local?.url !== null && local?.url !== undefined && sameOrigin(local.url, url);
	const token = io.env.ASSAY_TOKEN || (isLocal && as === "owner" ? await localToken(dataDir) : undefined);
	const keyPath = values.key ?? (as === "customer" && token === undefined ? customerKeyPath(io.env) : undefined);
	const signer =
		keyPath === undefined
			? null
			: await loadKeyFile({
					path: resolve(io.cwd, keyPath),
					name: "the customer's key",
					elsewhere: "Name with --key",
					randomBytes: (n) => randomBytes(n),
				});
	// Loaded when it is needed: a wrong option, or --help, must not wait for every schema.
	const { createApiClient } = await import("../api/create-client.ts");
	const client = createApiClient({
		baseUrl: url,
		retries: 1,
		// An environment for a rental may take minutes to be made: a container image is pulled first.
		timeoutMs: as === "customer" ? 360_000 : 30_000,
		...(signer === null ? {} : { signer }),
		...(isLocal && local?.key != null ? { audience: local.key } : {}),
		...(token === undefined ? {} : { token }),
	});
	return { client, url, caller: signer?.key ?? null };
}

/** Runs one command's work and tells, when nobody answers, how to reach somebody. */
export async function withApi<T>(connection: ApiConnection, work: (client: ApiClient) => Promise<T>): Promise<T> {
	try {
		return await work(connection.client);
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		const more = HINTS[error.code];
		if (more === undefined) throw error;
		throw new AssayError(error.code, error.message, { hint: more, cause: error.cause ?? error });
	}
}

const CREDENTIALS = "Set ASSAY_TOKEN to a token with the role, or run as the owner of the local network (--data).";
const HINTS: Readonly<Record<string, string>> = {
	API_UNREACHABLE: "Start a network with `assay up`, or name a validator with --api URL or ASSAY_API.",
	CREDENTIALS_MISSING: CREDENTIALS,
	CREDENTIALS_REFUSED: `The token was revoked, has expired or belongs to another validator. ${CREDENTIALS}`,
	ROLE_WRONG: CREDENTIALS,
};

/** ASSAY_HOME, else ${XDG_CONFIG_HOME:-~/.config}/assay, beside the verifier's key. */
export function customerFolder(env: CliIo["env"]): string {
	if (env.ASSAY_HOME) return env.ASSAY_HOME;
	const config = env.XDG_CONFIG_HOME?.startsWith("/") ? env.XDG_CONFIG_HOME : join(homedir(), ".config");
	return join(config, "assay");
}

function customerKeyPath(env: CliIo["env"]): string {
	return join(customerFolder(env), "customer.key");
}

/** Readable by its owner only: whoever may not read it goes on without. */
async function localToken(dataDir: string): Promise<string | undefined> {
	const text = await readFile(join(dataDir, "admin.token"), "utf8").catch(() => "");
	return text.trim() === "" ? undefined : text.trim();
}

export function parseApiUrl(command: string, text: string): string {
	const url = URL.canParse(text) ? new URL(text) : null;
	if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "" || url.hash !== "")
		throw usageError(`--api takes http://HOST[:PORT] or https://…, not '${text}'`, command);
	return url.href.replace(/\/+$/, "");
}

function sameOrigin(a: string, b: string): boolean {
	return new URL(a).href === new URL(b).href;
}
