// Where the verifier's key lies; how it is kept is tested beside src/platform/key-file.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signerPath } from "./signer.ts";

test("the path follows ASSAY_HOME, then XDG_CONFIG_HOME, then the home folder", () => {
	assert.equal(signerPath({ ASSAY_HOME: "/a", XDG_CONFIG_HOME: "/x" }), "/a/verifier.key");
	assert.equal(signerPath({ XDG_CONFIG_HOME: "/x" }), "/x/assay/verifier.key");
	assert.match(signerPath({ XDG_CONFIG_HOME: "relative" }), /\/\.config\/assay\/verifier\.key$/);
	assert.match(signerPath({}), /\/\.config\/assay\/verifier\.key$/);
});
