// `assay rent ssh` logs in with the key that `assay rent start` sent: no other is let in there.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Rental } from "../api/types.ts";
import type { CliIo } from "./command.ts";
import { keepKey, readPublicKey, runSsh } from "./rental-access.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-rental-"));
const before = process.env.PATH;
after(() => {
	process.env.PATH = before;
	rmSync(scratch, { recursive: true, force: true });
});

test("the key of rent start is kept for rent ssh; one that is named stands above it, and without either the usual one", async () => {
	const key = (name: string): string => {
		mkdirSync(join(scratch, ".ssh"), { recursive: true });
		writeFileSync(join(scratch, ".ssh", name), "secret");
		writeFileSync(join(scratch, ".ssh", `${name}.pub`), "ssh-ed25519 AAAA x\n");
		return join(scratch, ".ssh", name);
	};
	const [usual, own, named] = [key("id_ed25519"), key("own"), key("named")];
	const bin = join(scratch, "bin");
	mkdirSync(bin);
	writeFileSync(join(bin, "ssh"), `#!/bin/sh\necho "$@" > ${join(scratch, "args")}\n`);
	chmodSync(join(bin, "ssh"), 0o755);
	process.env.PATH = `${bin}:${before}`;
	const env = { HOME: scratch, ASSAY_HOME: join(scratch, "home") };
	const io = { env, cwd: scratch, err: process.stderr } as unknown as CliIo;
	const rental = (id: string) => {
		const access = { host: "box", port: 22, user: "me", hostKey: `ssh-ed25519 ${"A".repeat(40)}` };
		return { id, state: "active", access } as unknown as Rental;
	};
	const identity = async (id: string, asked?: string) => {
		assert.equal(await runSsh(rental(id), [], asked, io), 0);
		return /-i (\S+)/.exec(readFileSync(join(scratch, "args"), "utf8"))?.[1];
	};
	keepKey(rental("aa"), readPublicKey(`${own}.pub`, io), io);
	assert.equal(await identity("aa"), own);
	assert.equal(await identity("aa", `${named}.pub`), named);
	assert.equal(await identity("bb"), usual);
});
