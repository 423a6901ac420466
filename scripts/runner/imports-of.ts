// What a TypeScript source imports, by its text: `from`, bare and dynamic imports. Not here: what it reads
// (source-graph.ts).
const IMPORTS =
	/(?<!["'])\bfrom\s*["']([^"']+)["']|(?:^|\n)\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g;
/** Imports of types alone, which are gone when it runs. */
const OF_TYPES = /(?:^|\n)\s*(?:import|export)\s+type\s+(?:\{[^{}]*\}|\*\s+as\s+\w+|\w+)\s+from\s*["'][^"']+["'];?/g;

export const importsOf = (source: string): string[] =>
	[...source.matchAll(IMPORTS)].map((m) => m[1] ?? m[2] ?? m[3] ?? "");

export const withoutTypeImports = (source: string): string => source.replaceAll(OF_TYPES, "\n");

/** What is left where nothing is imported. */
export const withoutImports = (source: string): string => withoutTypeImports(source).replaceAll(IMPORTS, "\n");
