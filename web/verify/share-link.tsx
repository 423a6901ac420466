// A link that leads others to the same file and has them verify it in their own browser. Only for evidence
// that this validator keeps; whether it does is asked when somebody wants the link, not before: a file that
// was dropped stays here.
import { useState } from "preact/hooks";
import { CopyButton } from "../parts/small.tsx";
import { api, type Trouble, troubleOf } from "../shell/api.ts";

export function ShareLink({ probeId, isKept }: { probeId: string; isKept: boolean }) {
	const [kept, setKept] = useState(isKept);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const link = `${location.origin}/verify?probe=${probeId}`;
	if (kept)
		return (
			<p class="bar share">
				<span class="dim">Share it; whoever opens this verifies the same file:</span> <a href={link}>{link}</a>
				<CopyButton text={link} label="Copy link" />
			</p>
		);
	const ask = () =>
		api.getProbe({ params: { id: probeId } }).then(
			({ evidenceSha256 }) => setKept(evidenceSha256 !== null),
			(error) => setTrouble(troubleOf(error)),
		);
	return (
		<p class="bar share">
			<button type="button" class="small" onClick={ask}>
				Get a link to share
			</button>
			{trouble === null ? null : (
				<span class="dim" role="alert">
					This validator does not have the file ({trouble.code}). Send the file itself.
				</span>
			)}
		</p>
	);
}
