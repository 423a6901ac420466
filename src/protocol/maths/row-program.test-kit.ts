// row-program-code.ts as it must be for row-program.wat. Run by itself it writes the file:
// node src/protocol/maths/row-program.test-kit.ts
import { readFileSync, writeFileSync } from "node:fs";
import loadWabt from "wabt";

const source = new URL("row-program.wat", import.meta.url);
export const codeFile = new URL("row-program-code.ts", import.meta.url);

export async function rowProgramCode(): Promise<string> {
	const wabt = await loadWabt();
	const module = wabt.parseWat("row-program.wat", readFileSync(source, "utf8"), { simd: true });
	const base64 = Buffer.from(module.toBinary({}).buffer).toString("base64");
	const lines = base64.match(/.{1,110}/g) ?? [];
	return `// row-program.wat, assembled by row-program.test-kit.ts: do not edit. In base64.
export const ROW_PROGRAM_CODE = [
${lines.map((line) => `\t"${line}",\n`).join("")}].join("");
`;
}

if (import.meta.main) writeFileSync(codeFile, await rowProgramCode());
