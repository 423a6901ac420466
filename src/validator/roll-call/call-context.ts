// What carrying out a roll call needs of the validator around it.
import type { RollCallParams } from "../../chain/contracts/roll-call.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { RollAnswerRow } from "../../store/roll-calls.ts";
import type { AgentAsker } from "../agents/ask-agent.ts";
import type { VerifierPool } from "../probing/verifier-pool.ts";
import type { ChainHome } from "../settlement/home.ts";
import type { ValidatorContext } from "../validator-context.ts";
import type { Beacon } from "./block-beacon.ts";
import type { CallGame } from "./call-game.ts";
import type { OpenElsewhere } from "./open-elsewhere.ts";
import type { PeerOpenings } from "./peer-openings.ts";
import type { ProbeHold } from "./probe-hold.ts";

export interface CallActsContext extends ValidatorContext {
	readonly asker: AgentAsker;
	readonly pool: VerifierPool;
	readonly hold: ProbeHold;
	readonly home: Pick<ChainHome, "contracts" | "account" | "isEmbedded">;
	/** Where calls and places come from. */
	readonly draws: Beacon;
	readonly params: RollCallParams;
	readonly elsewhere: OpenElsewhere;
	readonly peers: PeerOpenings;
	/** Between two looks at the chain. */
	readonly lookMs: number;
	/** Throws when this process stops. */
	pause(ms: number): Promise<void>;
	/** Scores whom the call counts for. */
	scored(answers: readonly RollAnswerRow[]): Promise<void>;
	tell(kind: string, game: CallGame, detail: { readonly [name: string]: string | number }): void;
}

/** Its account, in lower case. */
export const selfOf = ({ home }: Pick<CallActsContext, "home">): Hex => home.account.address.toLowerCase() as Hex;
