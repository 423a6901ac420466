// A day in a line: a small bar for each hour, no axes. What it says stands beside it; a title names each
// hour.

export function Sparkline(p: { label: string; values: readonly { readonly value: number; readonly title: string }[] }) {
	const most = Math.max(...p.values.map(({ value }) => value));
	if (!(most > 0)) return null;
	const step = 100 / p.values.length;
	return (
		<svg class="sparkline" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={p.label}>
			{p.values.map(({ value, title }, i) => {
				// An hour with something in it is seen, however little that is.
				const height = value === 0 ? 0.75 : Math.max(2, (24 * value) / most);
				return (
					<rect
						key={i}
						class={value === 0 ? "is-none" : undefined}
						x={i * step}
						y={24 - height}
						width={step * 0.7}
						height={height}
					>
						<title>{title}</title>
					</rect>
				);
			})}
		</svg>
	);
}
