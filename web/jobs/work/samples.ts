// The shipped samples: job files and what they name, served with the dashboard (scripts/build-web.ts copies
// them). Nothing else is fetched by these names.
declare const SAMPLE_FILES: readonly string[];

/** Null: no sample has such a file. */
export async function sampleFile(name: string): Promise<Uint8Array | null> {
	const plain = name.replace(/^\.\//, "").replaceAll("//", "/");
	if (!SAMPLE_FILES.includes(plain)) return null;
	const response = await fetch(`/sample--${plain.replaceAll("/", "--")}`);
	return response.ok ? new Uint8Array(await response.arrayBuffer()) : null;
}

export async function sampleJob(name: string): Promise<Readonly<Record<string, unknown>>> {
	const bytes = await sampleFile(`${name}.json`);
	if (bytes === null) throw new Error(`there is no sample ${name}`);
	return JSON.parse(new TextDecoder().decode(bytes));
}
