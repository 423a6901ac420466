// Fingerprints of pinned keys: as ssh-keygen prints them, and never a guess.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintIn } from "./known-hosts.ts";

const key = "AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g";
const other = "AAAAC3NzaC1lZDI1NTE5AAAAICAfHh0cGxoZGBcWFRQTEhEQDw4NDAsKCQgHBgUEAwIB";
/** Of `key`, by ssh-keygen -l. */
const print = "SHA256:mKqU+0K8OhKmA8bBQi9Rz0Q5l7/g160hIP+rJYSTNj4";

test("the one key of an alias is found, whatever stands around it", () => {
	const file = `# a comment\n\nhost ssh-ed25519 ${other}\n[host]:2222 ssh-ed25519 ${key}\n|1|abc=|def= ssh-ed25519 ${other}\n`;
	assert.equal(fingerprintIn(file, "[host]:2222"), print);
	assert.equal(fingerprintIn(`a,b,[host]:2222 ssh-ed25519 ${key} a comment\n`, "[host]:2222"), print);
	assert.equal(fingerprintIn(`h ssh-ed25519 ${key}\nh ssh-ed25519 ${key}\n`, "h"), print);
});

test("no key, several keys, another host, a marker: null", () => {
	assert.equal(fingerprintIn("", "h"), null);
	assert.equal(fingerprintIn(`h2 ssh-ed25519 ${key}\n`, "h"), null);
	assert.equal(fingerprintIn(`h ssh-ed25519 ${key}\nh ssh-ed25519 ${other}\n`, "h"), null);
	assert.equal(fingerprintIn(`@revoked h ssh-ed25519 ${key}\n`, "h"), null);
	assert.equal(fingerprintIn("h ssh-ed25519\n", "h"), null);
});
