// `assay validate`: one validator process, in the foreground: database, API, agents, probes, scores, rentals.
// Several may run side by side on one database. Not here: what it does (src/validator/); a whole network on
// one machine is `assay up`.

import { resolve } from "node:path";
import { untilAborted } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { type BucketOptions, bucketAddress } from "../../store/bucket/bucket.ts";
import type { Validator } from "../../validator/create-validator.ts";
import type { ValidatorSettings } from "../../validator/validator-config.ts";
import { collateralPaths } from "../attest-collateral.ts";
import { guestsOf, guestsOption } from "../attest-guests.ts";
import { externalChain, rpcUrlOf } from "../chain/chain-connection.ts";
import { nodeOptions } from "../chain/chain-options.ts";
import { type CliIo, command } from "../command.ts";
import { defaultDataDir, makeDataDir } from "../data-folder.ts";
import { choice, flag, list, text, usageError, type Values, whole } from "../options.ts";
import { alertOption, alertSettings } from "../owner/alert-options.ts";
import { requireNode } from "../require-node.ts";

/** `host:port`, `:port` or `[v6]:port`. */
export function parseListen(given: string): { readonly host: string; readonly port: number } {
	const found = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*)):([0-9]{1,5})$/.exec(given);
	const port = Number(found?.[3]);
	if (!found || port > 65535) throw usageError(`--listen takes HOST:PORT, not '${given}'`);
	return { host: found[1] || found[2] || "127.0.0.1", port };
}

/** Those that `assay up` and `assay validate` share. */
export const validatorOptions = {
	data: text("FOLDER", "where everything is stored (default: network in ASSAY_HOME, or ~/.local/share/assay/network)"),
	database: text("URL", "any PostgreSQL server instead of an embedded one (or DATABASE_URL)", {
		shape: { pattern: /^postgres(ql)?:\/\/./, is: "the URL of a PostgreSQL server, postgres://user@host:port/name" },
		env: "DATABASE_URL",
	}),
	bucket: text(
		"URL",
		"S3-compatible bucket for evidence, https://HOST/BUCKET[/PREFIX] (or ASSAY_BUCKET; keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)",
		{ env: "ASSAY_BUCKET" },
	),
	name: text("NAME", "how it is listed"),
	quick: flag("quick probes: they prove less"),
	"trust-proxy": list("ADDRESS", "a proxy of yours, address or network, whose X-Forwarded-For is believed"),
	"customer-tokens": flag("customers need a token of the admin (default: any key may rent)"),
	collateral: text("FILE", "bundle that devices' reports are judged by (default: that of assay attest update)"),
	guests: guestsOption,
	alert: alertOption,
	"metrics-providers": whole("N", "providers with metrics of their own (default 200)", [0, 2000]),
	param: list("NAME=VALUE", "a parameter of docs/scores.md, such as intervalMs=600000"),
	...nodeOptions,
	"public-rpc": text("URL", "node of that chain for the wallets of customers, which the dashboard offers to add"),
	confirmations: {
		...nodeOptions.confirmations,
		help: "blocks until something counts there (default 12, on a dev node 1)",
	},
};

/** Keys come from the environment alone: a command line is seen by everybody on the machine. */
export function bucketOf(given: string | undefined, { env }: CliIo): BucketOptions | undefined {
	const url = given ?? (env.ASSAY_BUCKET || undefined);
	if (url === undefined) return undefined;
	bucketAddress(url);
	const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN } = env;
	if (!accessKeyId || !secretAccessKey)
		throw new AssayError("CONFIG_BAD", "a bucket needs its keys", {
			hint: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION unless it is us-east-1.",
		});
	const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1";
	return { url, region, accessKeyId, secretAccessKey, sessionToken: AWS_SESSION_TOKEN || undefined };
}

/** Who is believed, and who may rent. */
export const accessSettings = (values: {
	readonly "trust-proxy"?: readonly string[] | undefined;
	readonly "customer-tokens": boolean;
}) => ({ api: { trustProxy: values["trust-proxy"] }, openCustomers: !values["customer-tokens"] });

export const logOption = <D extends LogLevel>(fallback: D) =>
	choice("LEVEL", LEVELS, "log level: debug, info, warn or error, as JSON lines on standard error", fallback);

const LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LEVELS)[number];

const options = {
	...validatorOptions,
	listen: text(
		"HOST:PORT",
		"address of the API and of the agents' WebSocket; port 0 takes any (default 127.0.0.1:7373)",
	),
	concurrency: whole("N", "probes at once (default 16)", [1, 256]),
	blobs: text(
		"WHERE",
		"inputs and results of jobs: a folder, or the URL of the process that has it (default: in --data)",
	),
	join: list("KEY", "only this provider may connect (default: everyone)"),
	chain: flag("publish on the embedded chain of the data folder"),
	drand: text("URL", "relay of drand, for a network that draws its roll calls from it"),
	"api-only": flag("serve the API and the agents' WebSocket, probe nothing"),
	log: logOption("warn"),
	json: flag("print the start-up message as JSON"),
};

/** Without the chain, which has to be asked. */
const settingsOf = (values: Values<typeof options>, io: CliIo): Omit<ValidatorSettings, "chain"> => ({
	dataDir: resolve(io.cwd, values.data ?? defaultDataDir(io.env)),
	databaseUrl: values.database ?? (io.env.DATABASE_URL || undefined),
	name: values.name,
	probes: !values["api-only"],
	probe: { quick: values.quick },
	listen: values.listen === undefined ? {} : parseListen(values.listen),
	concurrency: values.concurrency,
	join: values.join,
	blobs: blobsOf(values.blobs, io),
	bucket: bucketOf(values.bucket, io),
	...accessSettings(values),
	collateral: collateralPaths(values.collateral, io),
	guests: guestsOf(values, io),
	params: readParams(values.param ?? []),
	rollCalls: { drandUrl: values.drand },
	alerts: alertSettings(values.alert, io),
	metricsProviders: values["metrics-providers"],
});

export const validateCommand = command({
	name: "validate",
	about: `Runs one validator process until Ctrl-C. Providers connect with assay provide. Several validators may share one database;
on other machines --bucket has the evidence for all of them, and --blobs names the one that has the blobs.`,
	options,
	exits: { 0: "stopped", 69: "something needed is missing", 74: "data folder not writable", 77: "refused" },

	async check(values, io) {
		const { createValidatorConfig } = await import("../../validator/validator-config.ts");
		createValidatorConfig({ ...settingsOf(values, io), chain: null });
	},

	async run(values, io) {
		const rpcUrl = rpcUrlOf(values, io);
		const chain = rpcUrl !== null ? await externalChain(values, io, rpcUrl) : values.chain ? { rpcUrl } : null;
		const settings: ValidatorSettings = { ...settingsOf(values, io), chain };
		requireNode();
		await makeDataDir(settings.dataDir);
		const validator = await loadValidator(settings, values.log, io);
		const { url, key, adminTokenFile } = await validator.start();
		const { dataDir } = validator.config;
		io.out.write(
			values.json
				? `${JSON.stringify({ url, key, dataDir, adminTokenFile })}\n`
				: `assay validator ${url}\n  key          ${key}\n  data         ${dataDir}\n  admin token  ${adminTokenFile}\n` +
						`  providers    assay provide --validator ${url} --trust ${key}\n`,
		);
		await untilAborted(io.interrupted);
		await validator.stop();
		return 0;
	},
});

const blobsOf = (given: string | undefined, io: CliIo): string | undefined =>
	given === undefined || /^https?:\/\//.test(given) ? given : resolve(io.cwd, given);

/** Loaded when it runs: the help of other commands must not wait for a database driver and a web server. */
export async function loadValidator(settings: ValidatorSettings, log: LogLevel, io: CliIo): Promise<Validator> {
	const [{ createValidator }, { createLogger }] = await Promise.all([
		import("../../validator/create-validator.ts"),
		import("../../platform/logger.ts"),
	]);
	return createValidator(settings, { env: io.env, logger: createLogger(log) });
}

/** Numbers where they are numbers, JSON where it is an object, words otherwise; market/params checks them. */
export function readParams(given: readonly string[]): Record<string, unknown> {
	return Object.fromEntries(
		given.map((pair) => {
			const split = pair.indexOf("=");
			if (split <= 0) throw usageError(`--param takes NAME=VALUE, not '${pair}'`);
			const [name, value] = [pair.slice(0, split), pair.slice(split + 1)];
			try {
				return [name, JSON.parse(value)];
			} catch (cause) {
				if (/^[a-z0-9-]+$/i.test(value)) return [name, value];
				throw usageError(`--param ${name}: '${value}' cannot be read`, cause);
			}
		}),
	);
}
