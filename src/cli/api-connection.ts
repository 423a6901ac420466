// How a command reaches a validator's API, and as whom: by --api, ASSAY_API or the network that runs on this
// machine; with ASSAY_TOKEN, the local network's admin token, or a customer's key. The local admin token is
// never sent to any other address.
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { ApiClient } from "../api/create-client.ts";
import { realEnvironment } from "../platform/environment.ts";
import { loadKeyFile } from "../platform/key-file.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { signerPath } from "../validator/probe/signer.ts";
import type { CliIo } from "./command.ts";
import { defaultDataDir } from "./data-folder.ts";
import { flag, group, text, usageError, type Values } from "./options.ts";
import { readRunningUp, type UpFile } from "./up/up-file.ts";

/** Where `assay up` begins to look for a free port. */
export const DEFAULT_PORT = 4747;

export const apiOptions = group("connection to the API", {
	api: text("URL", "the validator's API (or ASSAY_API; default: the network that assay up runs on this machine)", {
		env: "ASSAY_API",
	}),
	data: text("FOLDER", "data folder of that network, for its address and its admin token"),
	key: text("FILE", "sign requests with this key; without it ASSAY_TOKEN or the local admin token is sent"),
	json: flag("print the API's reply as JSON"),
});

type ApiValues = Partial<Values<typeof apiOptions>>;
/** `customer`: signs with the customer's key, unless a token was given. `owner`: by token. */
type As = "owner" | "customer";
type Ask<T> = (client: ApiClient) => Promise<T>;

export async function askApi<T>(values: ApiValues, io: CliIo, work: Ask<T>, as?: As): Promise<T> {
	return (await openApi(values, io, as)).ask(work);
}

/** Errors of `ask` get a hint on how to reach a validator, or which credentials to use. */
export async function openApi(
	values: ApiValues,
	io: CliIo,
	as: As = "owner",
): Promise<{
	readonly url: string /** Who signs; null: a token, or nobody. */;
	readonly key: string | null;
	/** The network that `assay up` runs on this machine, where it is the one that is asked. */
	readonly up: UpFile | null;
	ask<T>(work: Ask<T>): Promise<T>;
}> {
	const dataDir = resolve(io.cwd, values.data ?? defaultDataDir(io.env));
	const local = await readRunningUp(dataDir);
	// Naming a folder means the network that runs from it, not whichever happens to run on this machine.
	if (values.data !== undefined && values.api === undefined && local?.url == null)
		throw new AssayError("API_UNREACHABLE", `no network is running from ${dataDir}`, {
			hint: `Start one with \`assay up --data ${values.data}\`, or give a validator's URL with --api.`,
		});
	const named = values.api ?? (io.env.ASSAY_API || undefined);
	const url = named === undefined ? (local?.url ?? `http://127.0.0.1:${DEFAULT_PORT}`) : parseApiUrl(named);
	const isLocal = local?.url !== null && local?.url !== undefined && sameOrigin(local.url, url);
	const token = io.env.ASSAY_TOKEN || (isLocal && as === "owner" ? await localToken(dataDir) : undefined);
	const ownKey = as === "customer" && token === undefined ? join(customerFolder(io.env), "customer.key") : undefined;
	const keyPath = values.key ?? ownKey;
	const { randomBytes } = realEnvironment();
	const file = { name: "the customer's key", elsewhere: "Name with --key", randomBytes };
	const signer = keyPath === undefined ? null : await loadKeyFile({ ...file, path: resolve(io.cwd, keyPath) });
	// Loaded when it is needed: a wrong option, or --help, must not wait for every schema.
	const { createApiClient } = await import("../api/create-client.ts");
	const client = createApiClient({
		baseUrl: url,
		retries: 1,
		// Creating a rental's environment may take minutes: a container image is pulled first.
		timeoutMs: as === "customer" ? 360_000 : 30_000,
		...(signer === null ? {} : { signer }),
		...(isLocal && local?.key != null ? { audience: local.key } : {}),
		...(token === undefined ? {} : { token }),
	});
	const key = token === undefined ? (signer?.key ?? null) : null;
	const ask = <T>(work: Ask<T>): Promise<T> =>
		work(client).catch((error) => rethrow(error, named === undefined ? null : url));
	return { url, key, up: isLocal ? local : null, ask };
}

/** `named`: the address that the user gave. */
function rethrow(error: unknown, named: string | null): never {
	const isWrongAddress = error instanceof AssayError && error.code === "API_UNREACHABLE" && named !== null;
	const elsewhere = `Does a validator listen there? Try: curl ${named}/v1/health. \`assay up\` starts a network here.`;
	const hint = isWrongAddress ? elsewhere : error instanceof AssayError ? HINTS[error.code] : undefined;
	if (!(error instanceof AssayError) || hint === undefined) throw error;
	throw new AssayError(error.code, error.message, { hint, cause: error.cause ?? error });
}

const CREDENTIALS = "Set ASSAY_TOKEN to a token with the role, or run as the owner of the local network (--data).";
const HINTS: Readonly<Record<string, string>> = {
	API_UNREACHABLE: "Start a network with `assay up`, or give a validator's URL with --api or ASSAY_API.",
	CREDENTIALS_MISSING: CREDENTIALS,
	CREDENTIALS_REFUSED: `The token was revoked, has expired or belongs to another validator. ${CREDENTIALS}`,
	ROLE_WRONG: CREDENTIALS,
};

/** Beside the verifier's key. */
export const customerFolder = (env: CliIo["env"]): string => dirname(signerPath(env));

/** Readable by its owner only: anyone else goes on without it. */
async function localToken(dataDir: string): Promise<string | undefined> {
	const text = await readFile(join(dataDir, "admin.token"), "utf8").catch(() => "");
	return text.trim() === "" ? undefined : text.trim();
}

export function parseApiUrl(given: string): string {
	const url = URL.canParse(given) ? new URL(given) : null;
	if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "" || url.hash !== "")
		throw usageError(`--api takes http://HOST[:PORT] or https://…, not '${given}'`);
	return url.href.replace(/\/+$/, "");
}

function sameOrigin(a: string, b: string): boolean {
	return new URL(a).href === new URL(b).href;
}
