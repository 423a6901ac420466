// A validator's part in the epochs that are open: looks at the chain and at what it holds (epoch-look.ts), asks
// the rules what comes next (market/epochs/next-moves.ts), and has it done (epoch-acts.ts, player.ts). Decides
// nothing itself, so a process that comes back after a crash goes on where the chain is. docs/epochs.md §4.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { type EpochParams, readEpochParams } from "../../chain/contracts/scoreboard.ts";
import { type BoardLog, createBoardLog } from "../../chain/history/board-log.ts";
import type { IntentJournal } from "../../chain/sending/publish.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import type { SettlementView } from "../../market/epochs/epoch-view.ts";
import { nextMoves } from "../../market/epochs/next-moves.ts";
import type { RewardLeaf, ScoreLeaf, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { actOf } from "./epoch-acts.ts";
import { lookAt } from "./epoch-look.ts";
import type { LeafFetcher } from "./fetch-leaves.ts";
import type { HeldEpoch } from "./held-epoch.ts";
import { createPlayer, type Player } from "./player.ts";
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
	nowS_: number;
	view: SettlementView;
}

export type EpochGame = Awaited<ReturnType<typeof createEpochGame>>;

const MAX_ROUNDS = 32;

export async function createEpochGame(options: EpochGameOptions) {
	const params = await readEpochParams(options.contracts);
	const self = options.account.address.toLowerCase() as Hex;
	const game: Game = {
		...options,
		params,
		log: createBoardLog(options.contracts),
		held: new Map(),
		leaves: new Map(),
		waits: new Map(),
		failures: new Map(),
		known: new Map(),
		inBlock: new Map(),
		settled: new Set(),
		self,
		nowS_: 0,
		view: { self, quorumPpm: params.quorumPpm, head: null, leaves: new Set(), epochs: [], waits: new Map() },
	};
	const { client } = options.contracts;
	const player: Player = createPlayer({ ...options, client });
	return {
		params,
		player,
		/** As of the last turn. */
		view: () => game.view,
		/**
		 * Begins whatever is due now. What takes milliseconds is waited for, and what follows from it begun too;
		 * the rest goes on by itself. True: something was begun.
		 */
		async turn(): Promise<boolean> {
			let any = false;
			for (let round = 0; round < MAX_ROUNDS; round++) {
				game.nowS_ = await options.nowS();
				game.view = await lookAt(game, game.nowS_);
				const acts = nextMoves(game.view, game.nowS_).map((move) => actOf(game, move));
				if (!player.play(acts)) break;
				any = true;
				await Promise.race([player.next(), client.sleep(client.pollMs)]);
			}
			return any;
		},
		stop: () => player.stop(),
	};
}
