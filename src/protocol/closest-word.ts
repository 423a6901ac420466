// "Did you mean": the known word nearest to what was typed. Pure.

/** Letters to add, leave out, change, or swap with their neighbour. */
function distance(a: string, b: string): number {
	const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i]);
	for (let j = 1; j <= b.length; j++) rows[0]![j] = j;
	for (let i = 1; i <= a.length; i++)
		for (let j = 1; j <= b.length; j++) {
			const changed = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
			const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : changed;
			rows[i]![j] = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, changed, swapped);
		}
	return rows[a.length]![b.length]!;
}

/** null: nothing is near enough to be meant. What begins like it counts as near. */
export function closestWord(typed: string, words: readonly string[]): string | null {
	const word = typed.toLowerCase().slice(0, 64);
	if (word === "") return null;
	const most = Math.max(1, Math.floor(word.length / 3));
	const near = words
		.map(
			(known) =>
				[known, known.startsWith(word) && word.length > 1 ? 0.5 : distance(word, known.toLowerCase())] as const,
		)
		.filter(([, far]) => far <= most)
		.sort(([, a], [, b]) => a - b);
	return near[0]?.[0] ?? null;
}

export const didYouMean = (typed: string, words: readonly string[]): string => {
	const meant = closestWord(typed, words);
	return meant === null ? "" : `Did you mean '${meant}'? `;
};
