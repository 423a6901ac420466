// Is this evidence true? In five lines: node verify.mjs FILE
import { readFileSync } from "node:fs";
import { verifyEvidence } from "assay";

const verdict = verifyEvidence(readFileSync(process.argv[2] ?? "h200.assay"));
console.log(verdict.status, verdict.status === "valid" ? verdict.identity.map(({ profile }) => profile) : verdict.code);
process.exitCode = verdict.status === "valid" ? 0 : 1;
