// `assay validate`: one validator process, in the foreground: database, API, agents' door, probes, scores, rentals. Several may run side by side on
// one database. Not here: what it does (src/validator/); a whole network on one machine is `assay up`.
import { resolve } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ValidatorSettings } from "../../validator/validator-config.ts";
import { externalChain, rpcUrlOf } from "../chain/chain-connection.ts";
import type { Command } from "../command.ts";
import { defaultDataDir, makeDataDir } from "../data-folder.ts";
import { numberOption, parseOptions, usageError } from "../parse-options.ts";
import { requireNode } from "../require-node.ts";

/** `host:port`, `:port` or `[v6]:port`. */
export function parseListen(command: string, text: string): { readonly host: string; readonly port: number } {
	const found = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*)):([0-9]{1,5})$/.exec(text);
	const port = Number(found?.[3]);
	if (!found || port > 65535) throw usageError(`--listen takes HOST:PORT, not '${text}'`, command);
	return { host: found[1] || found[2] || "127.0.0.1", port };
}

const LEVELS = ["debug", "info", "warn", "error"] as const;

export const validateCommand: Command = {
	name: "validate",
	summary: "runs a validator: keeps providers proven and scored, serves the API",
	help: `usage: assay validate [OPTIONS]

Runs one validator process until Ctrl-C. Providers dial in with assay provide; several validators may share one database.

  --data FOLDER       evidence, key, admin's token, and without --database the database itself
                      (default: network in ASSAY_HOME, or assay/network in the user's data folder)
  --database URL      any PostgreSQL server (or DATABASE_URL); the data folder should then be shared as well, or each has its own evidence
  --listen HOST:PORT  of the API and the agents' door (default 127.0.0.1:7373; port 0 takes any)
  --name NAME         shown in the list of validators
  --concurrency N     probes at once (default 16)
  --quick             quick probes: they prove less
  --join KEY          only this provider may dial in; may be given several times (default: everyone)
  --param NAME=VALUE  a parameter of docs/scores.md, such as intervalMs=600000; may be given several times
  --chain             publish on the embedded chain of the data folder
  --rpc URL           publish on any EVM chain (or ASSAY_RPC), docs/chain.md; its contracts are those that assay chain deploy wrote to the data folder, or
  --contracts FILE    these
  --confirmations N   blocks until something counts there (default 12, and 1 on a node for development)
  --most-fee GWEI     most to offer there for a unit of gas (default 500)
  --api-only          serve the API and the agents' door, probe nothing
  --log LEVEL         debug, info, warn or error, as JSON lines on standard error (default warn)
  --json              what is printed at the start as JSON

exit codes: stopped 0, usage 64, something needed is missing 69, data folder not writable 74, refused 77`,

	async run(args, io) {
		const { values } = parseOptions(
			"validate",
			args,
			{
				data: { type: "string" },
				database: { type: "string" },
				listen: { type: "string" },
				name: { type: "string" },
				concurrency: { type: "string" },
				quick: { type: "boolean", default: false },
				join: { type: "string", multiple: true },
				param: { type: "string", multiple: true },
				chain: { type: "boolean", default: false },
				rpc: { type: "string" },
				contracts: { type: "string" },
				confirmations: { type: "string" },
				"most-fee": { type: "string" },
				"api-only": { type: "boolean", default: false },
				log: { type: "string", default: "warn" },
				json: { type: "boolean", default: false },
			},
			{ min: 0, max: 0 },
		);
		const level = LEVELS.find((one) => one === values.log);
		if (level === undefined) throw usageError(`--log takes ${LEVELS.join(", ")}, not '${values.log}'`, "validate");
		const databaseUrl = values.database ?? (io.env.DATABASE_URL || undefined);
		const rpcUrl = rpcUrlOf(values, io);
		const settings: ValidatorSettings = {
			dataDir: resolve(io.cwd, values.data ?? defaultDataDir(io.env)),
			databaseUrl,
			name: values.name,
			probes: !values["api-only"],
			probe: { quick: values.quick },
			listen: values.listen === undefined ? {} : parseListen("validate", values.listen),
			concurrency:
				values.concurrency === undefined
					? undefined
					: Math.floor(numberOption("validate", "concurrency", values.concurrency, 1, 256)),
			join: values.join,
			params: readParams("validate", values.param ?? []),
			chain: rpcUrl !== null ? await externalChain("validate", values, io, rpcUrl) : values.chain ? { rpcUrl } : null,
		};
		requireNode("validate");
		await makeDataDir(settings.dataDir);
		// Loaded when it runs: the help of other commands must not wait for a database driver and a web server.
		const [{ createValidator }, { createLogger }] = await Promise.all([
			import("../../validator/create-validator.ts"),
			import("../../platform/environment.ts"),
		]);
		const validator = createValidator(settings, { env: io.env, logger: createLogger(level) });
		const { url, key, adminTokenFile } = await validator.start();
		const { dataDir } = validator.config;
		io.out.write(
			values.json
				? `${JSON.stringify({ url, key, dataDir, adminTokenFile })}\n`
				: `assay validator ${url}\n  key          ${key}\n  data         ${dataDir}\n  admin token  ${adminTokenFile}\n` +
						`  providers    assay provide --validator ${url} --trust ${key}\n`,
		);
		await new Promise<void>((stop) => {
			if (io.interrupted.aborted) stop();
			io.interrupted.addEventListener("abort", () => stop(), { once: true });
		});
		await validator.stop();
		return 0;
	},
};

/** Numbers where they are numbers, JSON where it is an object, words otherwise; market/params checks them. */
export function readParams(command: string, given: readonly string[]): Record<string, unknown> {
	return Object.fromEntries(
		given.map((text) => {
			const at = text.indexOf("=");
			if (at <= 0) throw usageError(`--param takes NAME=VALUE, not '${text}'`, command);
			const value = text.slice(at + 1);
			try {
				return [text.slice(0, at), JSON.parse(value)];
			} catch (cause) {
				if (/^[a-z0-9-]+$/i.test(value)) return [text.slice(0, at), value];
				throw new AssayError("USAGE", `--param ${text.slice(0, at)}: '${value}' cannot be read`, { cause });
			}
		}),
	);
}
