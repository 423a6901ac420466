// Connections that end at the worst moment, by a server that speaks just enough of PostgreSQL's protocol to
// do it at will.
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { test } from "node:test";
import { openDatabase } from "./database.ts";

/** A message of the server: its letter, the length of the rest, the rest. */
function message(letter: string, body: Buffer): Buffer {
	const head = Buffer.alloc(5);
	head.write(letter);
	head.writeInt32BE(4 + body.length, 1);
	return Buffer.concat([head, body]);
}

const AUTHENTICATED = message("R", Buffer.alloc(4));
const READY = message("Z", Buffer.from("I"));
const CUT = message(
	"E",
	Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"),
);

test("a connection that is cut in the bytes that say it is ready is an error of the store, not the end of the process", async () => {
	const server = createServer((socket) => {
		socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, CUT])));
		socket.on("error", () => {});
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	const database = openDatabase({
		address: () => ({ host: "127.0.0.1", port, user: "assay", database: "assay", password: "" }),
		schema: "assay",
		applicationName: "assay/test",
		poolSize: 2,
		revive: async () => {},
		onWarning: () => {},
	});
	try {
		await assert.rejects(database.query("SELECT 1"), (error) => /^STORE_/.test((error as { code: string }).code));
	} finally {
		await database.close();
		server.close();
	}
});
