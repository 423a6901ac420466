// What came of a roll call, or of a host in one: mark, word and colour.
import type { RollCallAnswer } from "../../src/api/types.ts";
import { Badge } from "../parts/small.tsx";
import { callWords } from "./call-words.ts";

export function CallBadge({ state, code }: Pick<RollCallAnswer, "code"> & { state: Parameters<typeof callWords>[0] }) {
	const { tone, word, why } = callWords(state, code);
	return (
		<Badge tone={tone} title={why}>
			<span>{word}</span>
			{code === null ? null : (
				<span class="badge-code" title={code}>
					{code}
				</span>
			)}
		</Badge>
	);
}
