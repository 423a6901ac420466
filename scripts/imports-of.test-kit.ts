// What a TypeScript source imports, by its text: `from`, bare and dynamic imports.
export function importsOf(source: string): string[] {
	const pattern =
		/(?<!["'])\bfrom\s*["']([^"']+)["']|(?:^|\n)\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g;
	return [...source.matchAll(pattern)].map((m) => m[1] ?? m[2] ?? m[3] ?? "");
}
