// Which bundle a validator judges by: the first that is there, the newest state of it, and the last good one
// if it turns bad.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createSigner } from "../../protocol/probe/signer.ts";
import { encodeBundle } from "../../verify/attestation/collateral/bundle.ts";
import { createCollateral } from "./collateral-file.ts";

const signer = createSigner(new Uint8Array(32).fill(7));
const bundle = (...ids: string[]) =>
	encodeBundle(
		ids.map((id) => ({
			...({ kind: "manifest", rank: 0, fetchedAtS: 1, validFromS: 1, validUntilS: 2, source: "a test" } as const),
			...{ id, bytes: new TextEncoder().encode(id) },
		})),
		1,
		signer,
	);

test("the first bundle that is there counts, is read anew when it changed, and a broken one changes nothing", async () => {
	const folder = mkdtempSync(join(tmpdir(), "assay-collateral-"));
	const [own, snapshot] = [join(folder, "collateral.assay"), join(folder, "snapshot.assay")];
	/** As the update does: another file in its place. */
	const put = async (path: string, bytes: Uint8Array) => {
		writeFileSync(`${path}.draft`, bytes);
		await rename(`${path}.draft`, path);
	};
	const warned: string[] = [];
	const warn = ((_: object, message: string) => void warned.push(message)) as never;
	const collateral = createCollateral([own, snapshot], { warn });
	const ids = async () => (await collateral()).map(({ id }) => id).join();
	try {
		assert.equal(await ids(), "");
		await put(snapshot, bundle("of the release"));
		assert.equal(await ids(), "of the release");
		await put(own, bundle("one", "two"));
		assert.deepEqual(await Promise.all([ids(), ids()]), ["one,two", "one,two"]);
		await put(own, bundle("one", "two", "three").slice(0, -1));
		assert.deepEqual([await ids(), await ids(), warned.length], ["one,two", "one,two", 1]);
		await put(own, bundle("four"));
		assert.equal(await ids(), "four");
		rmSync(own);
		assert.equal(await ids(), "of the release");
	} finally {
		rmSync(folder, { recursive: true });
	}
	assert.deepEqual(warned, ["no bundle of collateral; the one before it counts"]);
});
