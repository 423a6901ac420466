// Does the same to each of many, a few at a time, in their order.

/**
 * Resolves when all are done. When one fails no further one is begun, those under way are waited for, and the
 * first failure is thrown.
 */
export async function someAtOnce<T>(
	items: Iterable<T>,
	count: number,
	act: (item: T, index: number) => Promise<void>,
): Promise<void> {
	const entries = [...items].entries();
	const failures: unknown[] = [];
	const lane = async (): Promise<void> => {
		for (const [index, item] of entries) {
			if (failures.length > 0) return;
			await act(item, index).catch((error) => void failures.push(error));
		}
	};
	await Promise.all(Array.from({ length: count }, lane));
	if (failures.length > 0) throw failures[0];
}
