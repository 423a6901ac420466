// Which routes of the table have this path, whatever the method: for 405, Allow and OPTIONS. Routing itself
// is fastify's.
import { routeRows } from "../routes.ts";

/** What paths of a route look like. */
export const pathPattern = (path: string): RegExp =>
	new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:[a-z0-9]+/gi, "[^/]+")}$`);

const patterns = routeRows.map(([, { path, method }]) => ({ method, pattern: pathPattern(path) }));

export function methodsOfPath(path: string): readonly string[] {
	const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method as string);
	if (methods.length === 0) return [];
	if (methods.includes("GET")) methods.push("HEAD");
	return [...new Set([...methods, "OPTIONS"])].sort();
}
