// Public keys as ssh-keygen makes them are read; every other spelling and every injection is refused.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseSshPublicKey } from "./ssh-public-key.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-keys-"));
after(() => rmSync(folder, { recursive: true }));

function makeKey(type: string, bits: string, comment = "somebody@host"): string {
	const file = join(folder, `${type}-${bits}`);
	rmSync(file, { force: true });
	execFileSync("ssh-keygen", ["-q", "-t", type, "-b", bits, "-N", "", "-C", comment, "-f", file]);
	return readFileSync(`${file}.pub`, "utf8").trimEnd();
}

for (const [type, bits] of [
	["ed25519", "256"],
	["ecdsa", "256"],
	["ecdsa", "384"],
	["ecdsa", "521"],
	["rsa", "2048"],
] as const)
	test(`${type} ${bits} of ssh-keygen is read, its comment dropped`, () => {
		const text = makeKey(type, bits);
		const result = parseSshPublicKey(text);
		assert.ok(result.ok);
		assert.equal(result.line, text.split(" ").slice(0, 2).join(" "));
		assert.deepEqual(parseSshPublicKey(result.line), result);
	});

test("a weak RSA key is refused", () => {
	assert.equal(parseSshPublicKey(makeKey("rsa", "1024")).ok, false);
});

const good = makeKey("ed25519", "256", "c");
const [type, base64] = good.split(" ") as [string, string];
const blob = Buffer.from(base64, "base64");
const spoiled: Readonly<Record<string, string>> = {
	"an option in front": `command="id" ${good}`,
	"an environment option": `environment="LD_PRELOAD=x" ${good}`,
	"a second line": `${good}\n${good}`,
	"a carriage return": `${good}\r`,
	"a newline at the end": `${good}\n`,
	"a newline in the comment": `${type} ${base64} a\nb`,
	"a zero byte": `${type} ${base64}\0`,
	"a tab between": `${type}\t${base64}`,
	"two spaces between": `${type}  ${base64}`,
	"a space in front": ` ${good}`,
	"an escape in the comment": `${type} ${base64} \u001b[2J`,
	"another type in front": `ssh-rsa ${base64}`,
	"a certificate": `ssh-ed25519-cert-v01@openssh.com ${base64}`,
	"an unknown type": `ssh-dss ${base64}`,
	"a name of Object": `constructor ${base64}`,
	"a byte less": `${type} ${blob.subarray(0, -1).toString("base64")}`,
	"a byte more": `${type} ${Buffer.concat([blob, Buffer.from([0])]).toString("base64")}`,
	"base64 without its padding": `${type} ${base64}`.replace(/.$/, ""),
	"url-safe base64": `${type} ${"-_".repeat(34)}`,
	"a huge part": `${type} ${Buffer.concat([Buffer.from([255, 255, 255, 255]), blob]).toString("base64")}`,
	"a private key": "-----BEGIN OPENSSH PRIVATE KEY-----",
	"a cert-authority": `cert-authority ${good}`,
	"a very long line": `${type} ${"A".repeat(100_000)}`,
	nothing: "",
};
for (const [name, text] of Object.entries(spoiled))
	test(`refused: ${name}`, () => {
		assert.equal(parseSshPublicKey(text).ok, false);
	});
