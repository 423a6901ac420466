// Cases of one reader alone: bytes that are wrong in one thing, given to the function that must refuse them.
// With its check removed the reader takes them, where no other check stands behind it.
import type { AttestationSettings } from "../settings.ts";
import { type Hearing, hear } from "../verdict.ts";
import { type MintedCase, minted } from "./minted-case.test-kit.ts";

export type Read = (settings: AttestationSettings, hearing: Hearing) => unknown;

/** Cases of one code: what is wrong → how it is read. */
export const readers = (about: string, code: string, rows: Readonly<Record<string, Read>>): MintedCase[] =>
	Object.entries(rows).map(([name, read]) =>
		minted(`${about}: ${name}`, code, undefined, (settings) =>
			hear((hearing) => {
				read(settings, hearing);
				return "none";
			}),
		),
	);
