// What a validator's part in the open epochs stands on, and what its process remembers of them: types alone.
// Who fills it in is epoch-look.ts, who changes it epoch-acts.ts and exchange.ts.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import type { EpochParams } from "../../chain/contracts/scoreboard.ts";
import type { BoardLog } from "../../chain/history/board-log.ts";
import type { IntentJournal } from "../../chain/sending/publish.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import type { SettlementView } from "../../market/epochs/epoch-view.ts";
import type { RewardLeaf, ScoreLeaf, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { LeafFetcher } from "./fetch-leaves.ts";
import type { HeldEpoch } from "./held-epoch.ts";
import type { ReportArchive } from "./report-archive.ts";

export interface EpochGameOptions {
	readonly contracts: Contracts;
	/** The signer: the hot key of this program. */
	readonly account: ChainAccount;
	/** Makes the salts; whoever has it can open our commitments early. */
	readonly saltSecret: Uint8Array;
	readonly journal: IntentJournal;
	readonly archive: ReportArchive;
	/** Seconds since 1970, by the chain's clock. */
	readonly nowS: () => number | Promise<number>;
	readonly nowMs: () => number;
	/** Our scores of an epoch that has ended. Null: none yet, ask again. */
	readonly scores: (epoch: number) => Promise<readonly ScoreLeaf[] | null>;
	readonly fetched: LeafFetcher;
	/** Providers that the chain knows: nobody's report is much longer. */
	readonly providers: () => number;
	readonly tell: (event: ChainEvent) => void;
	/** Something did not work: told, and tried again later. */
	readonly onError: (what: string, error: unknown) => void;
}

export type ChainEvent = {
	readonly kind: "committed" | "revealed" | "signed" | "posted" | "challenged" | "punished";
	readonly epoch: number;
	readonly detail: string;
};

/** The options, and what this process remembers. */
export interface Game extends EpochGameOptions {
	readonly params: EpochParams;
	readonly log: BoardLog;
	readonly held: Map<number, HeldEpoch>;
	/** Weights whose leaves are here, by id. */
	readonly leaves: Map<Hex, { readonly weights: Weights; readonly leaves: readonly RewardLeaf[] }>;
	readonly waits: Map<string, number>;
	readonly failures: Map<string, number>;
	/** What never changes once it was read; and what does not in the newest block. */
	readonly known: Map<string, unknown>;
	readonly inBlock: Map<string, unknown>;
	/** Epochs with nothing left to do. */
	readonly settled: Set<number>;
	/** Our account; the signer itself until it is registered. */
	self: Hex;
	/** As of the last look. */
	lookedAtS: number;
	view: SettlementView;
}
