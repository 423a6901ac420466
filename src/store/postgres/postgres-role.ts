// As whom we use the embedded server: `assay_store`, a role that may make schemas in its database and nothing
// else. It cannot read the server's files, run programs, load code or make roles. The superuser `assay` is
// used to make that role and for nothing more. Both passwords lie beside the cluster, readable for our user
// only.
import { randomBytes } from "node:crypto";
import { constants, open, rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { createDurably, readIfPresent } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";

export interface ServerAddress {
	readonly host: string;
	readonly port: number;
	readonly user: string;
	readonly password: string;
	readonly database: string;
}

/** The cluster's first role, which cannot be less than superuser. */
export const SUPERUSER = "assay";
const ROLE = "assay_store";

/** Where our role is served; its password is made on first use. */
export async function roleAddress(folder: string, port: number): Promise<ServerAddress> {
	return addressOf(port, ROLE, await passwordIn(join(folder, "password"), () => newPassword()));
}

/** Of the cluster in `folder`, whose maker left the password inside of it. */
async function superuserAddress(folder: string, port: number): Promise<ServerAddress> {
	const inside = join(folder, "data", "assay-password");
	const password = await passwordIn(join(folder, "superuser-password"), () => readPlain(inside));
	await rm(inside, { force: true });
	return addressOf(port, SUPERUSER, password);
}

export const newPassword = (): string => randomBytes(24).toString("hex");

const addressOf = (port: number, user: string, password: string): ServerAddress => ({
	...{ host: "127.0.0.1", port, user, password, database: "postgres" },
});

async function passwordIn(path: string, make: () => string | Promise<string>): Promise<string> {
	if ((await readIfPresent(path)) === null) await createDurably(path, `${await make()}\n`);
	const text = (await readIfPresent(path))?.toString().trim();
	if (text) return text;
	throw new AssayError("POSTGRES_FAILED", `${path} holds no password`, {
		hint: "Restore it from a copy of the folder.",
	});
}

/** The server's account can write there: a link could lead to any file that we may read. */
async function readPlain(path: string): Promise<string> {
	const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
	return (await file.readFile("utf8").finally(() => file.close())).trim();
}

/** "away": not while it starts, recovers or shuts down. "unknown": it does not know our role yet. */
export async function answers(address: ServerAddress): Promise<"ready" | "away" | "unknown"> {
	return await asClient(address, (client) => client.query("SELECT 1")).then(
		() => "ready",
		(cause: { code?: string }) => (cause.code === "28P01" || cause.code === "28000" ? "unknown" : "away"),
	);
}

/** All or nothing. */
export async function makeRole(folder: string, { port, password }: ServerAddress): Promise<void> {
	await asClient(await superuserAddress(folder, port), async (client) => {
		await client.query("BEGIN");
		await client.query("SELECT pg_advisory_xact_lock(hashtextextended('assay/role', 0))");
		const { rowCount } = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [ROLE]);
		if (rowCount === 0) await client.query(`CREATE ROLE ${ROLE}`);
		const rights = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS";
		await client.query(`ALTER ROLE ${ROLE} ${rights} PASSWORD ${pg.escapeLiteral(password)}`);
		await client.query(`GRANT CREATE ON DATABASE postgres TO ${ROLE}`);
		await client.query("COMMIT");
	});
}

async function asClient<Result>(address: ServerAddress, act: (client: pg.Client) => Promise<Result>): Promise<Result> {
	const client = new pg.Client({ ...address, connectionTimeoutMillis: 5000 });
	client.on("error", () => {});
	try {
		await client.connect();
		return await act(client);
	} finally {
		await client.end().catch(() => {});
	}
}
