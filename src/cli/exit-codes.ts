// The exit codes of every command, and the one table of which error ends in which. docs/cli.md lists both,
// made from here; a test compares the table with src/protocol/codes.ts.
import { AssayError } from "../protocol/assay-error.ts";
import { type CodeEntry, codes } from "../protocol/codes.ts";
import type { Verdict } from "../protocol/probe/verdict.ts";

export const exitCodes = {
	valid: { code: 0, meaning: "done; for probe and verify: the verdict is valid" },
	invalid: { code: 1, meaning: "the verdict is invalid: a claim, a file or an answer is false" },
	inconclusive: { code: 2, meaning: "the verdict is inconclusive: nothing was proven either way" },
	usage: { code: 64, meaning: "the command line is wrong, or a config file" },
	input: { code: 66, meaning: "a file cannot be read, or is not what it must be: a job, a program, a model, data" },
	unknown: { code: 67, meaning: "no match for that name, or more than one" },
	unavailable: { code: 69, meaning: "something needed is missing or refused it: a host, the engine, a node, a price" },
	internal: { code: 70, meaning: "a bug in assay" },
	output: { code: 74, meaning: "a file cannot be written" },
	busy: { code: 75, meaning: "not now: already running, rented or in use, or too many requests; try again later" },
	refused: { code: 77, meaning: "access was refused: login, host key, permissions" },
	interrupted: { code: 130, meaning: "stopped by Ctrl-C" },
} as const;

export function verdictToExitCode(verdict: Verdict): number {
	return exitCodes[verdict.status].code;
}

type ErrorExit = Exclude<keyof typeof exitCodes, "valid" | "inconclusive" | "internal" | "interrupted">;

/** Every code of an error, once. What says something false is invalid; what is malformed is input. */
const ERRORS: Readonly<Record<ErrorExit, string>> = {
	invalid: `
		FRAUD_REFUSED JOB_CLAIM JOB_RESULT_WRONG CLAIM_ROOT`,
	usage: `
		USAGE TARGET_BAD REQUEST_BAD CURSOR_BAD BODY_SHAPE JOB_QUESTION JOB_ACCOUNT RENTAL_TIME
		CONFIG_BAD CONFIG_SYNTAX CONFIG_UNKNOWN CONFIG_VALUE PARAMS_BAD RENTAL_TERMS BLOB_NAME
		CARD_NAME_UNKNOWN CARD_UNSUPPORTED`,
	input: `
		NOT_CANONICAL FILE_UNREADABLE FILE_KIND JOB_SPEC KEY_FILE ATTESTATION_UNFIT RECEIPTS_BAD EVIDENCE_CORRUPT
		GUESTS_BAD PROGRAM_MALFORMED PROGRAM_LIMIT PROGRAM_TEXT PROGRAM_INTERVAL PROGRAM_TARGET
		PROGRAM_WIRING PROGRAM_SHAPE PROGRAM_OVERFLOW PROGRAM_INDEX PROGRAM_DIVISOR PROGRAM_DOMAIN
		PROGRAM_OUTPUT TENSOR_SIZE TENSOR_ROOT TENSOR_RANGE BLOB_LARGE BLOB_CUT SEGMENT_OUT_OF_RANGE
		JOB_FIELD DATA_FORMAT DATA_CUT DATA_RANGE DATA_SHORT IMAGE_FORMAT IMAGE_SIZE ONNX_FILE ONNX_NODE
		WEIGHTS_FILE WEIGHTS_LAYOUT WEIGHTS_TYPE WEIGHTS_NUMBER FLEET_BAD PUBLIC_KEY_BAD
		MODEL_ARCHITECTURE MODEL_CONFIG MODEL_SHARDS MODEL_TENSOR_MISSING MODEL_TENSOR_SURPLUS MODEL_TENSOR_SHAPE ADAPTER_CONFIG
		ADAPTER_TENSOR TOKENIZER_FILE TOKENIZER_OTHER SCENE_FIELD SCENE_EMPTY SCENE_DARK SCENE_CAMERA
		SCENE_SIZE MESH_FORMAT BATCH_MIXED MODEL_RANGE RUN_OTHER RUN_DAMAGED RUN_UNFINISHED RUN_ABSENT
		RUN_INCOMPLETE CHECKPOINT_OTHER KEY_UNBOUND
		CLAIM_MALFORMED`,
	unknown: `
		PROVIDER_UNKNOWN PROBE_UNKNOWN EVIDENCE_UNKNOWN SCORE_UNKNOWN EPOCH_UNKNOWN OFFER_NONE
		RENTAL_UNKNOWN CLAIM_UNKNOWN PROOF_UNKNOWN FRAUD_UNKNOWN JOB_UNKNOWN TOKEN_UNKNOWN ID_AMBIGUOUS
		ROLL_CALL_UNKNOWN RECEIPTS_UNKNOWN STORE_NOT_FOUND DEVICE_MISSING BLOB_UNKNOWN`,
	unavailable: `
		CLAIM_BAD FRAME_BAD FRAME_TOO_LARGE REPLY_WRONG REPLY_UNASKED ENGINE_MISSING ENGINE_NOT_STARTED
		ENGINE_REFUSED ENGINE_VERSION ENGINE_LOST ENGINE_HASH_MISMATCH PLATFORM_UNSUPPORTED LINK_CLOSED
		LINK_DEADLINE LINK_SILENT LINK_FLOOD HOST_UNREACHABLE HOST_SILENT SSH_FAILED SSH_MISSING
		REMOTE_GARBAGE REMOTE_HASH_MISSING REMOTE_WRITE_FAILED BODY_BAD BODY_TOO_LARGE CONTENT_TYPE_WRONG
		ROUTE_UNKNOWN METHOD_WRONG HOST_WRONG SERVER_FAILED JOB_DECLINED JOB_UNANSWERED JOB_INPUTS
		JOB_UNFUNDED SRS_MISSING JOB_METHOD JOB_UNORDERED JOB_RESULT_EXPIRED JOB_NO_PROVIDER JOB_TIME
		JOB_OFFER JOB_PRICE API_UNREACHABLE API_REPLY_BAD NODE_TOO_OLD STREAM_BROKEN AGENT_MESSAGE_BAD
		AGENT_SILENT AGENT_FLOOD AGENT_CLOSED AGENT_REFUSED AGENT_REPLACED VALIDATOR_UNREACHABLE
		ROLL_CALL_OFF ROLL_CALL_NO_BLOCK ROLL_CALL_VOID DRAND_WRONG ROLL_CALL_FAILED RENTAL_UNAVAILABLE
		RENTAL_UNGUARDED RENTAL_FAILED POSTGRES_MISSING POSTGRES_FAILED CHAIN_UNREACHABLE CHAIN_NONE
		CHAIN_REFUSED CHAIN_UNKNOWN CHAIN_FUNDS DEVICE_UNATTESTED CHAIN_FEES CHAIN_OTHER CHAIN_NODE CHAIN_DISAGREE
		CHAIN_BEHIND FRAUD_NONE FRAUD_UNSIGNED FRAUD_PUNISHED FRAUD_NO_STAKE LOCK_FAILED CHAIN_CLOSED CHAIN_JOURNAL CHAIN_AHEAD
		CHAIN_METHOD CHAIN_EVM_MISSING CHAIN_EVM_OTHER CHAIN_REORGANISED CHAIN_MISSING STORE_UNREACHABLE STORE_TIMEOUT
		STORE_INPUT STORE_LEASE_LOST STORE_MIGRATION STORE_OLD STORE_FAILED EVIDENCE_MISSING BUCKET_FAILED
		LISTEN_FAILED VERIFIER_DIED PROGRAM_UNPROVABLE PROGRAM_BUDGET DEVICE_NO_ROOM BLOB_TREE BLOB_OFFSET BLOB_WRONG
		BLOB_MISSING NO_ANSWER RUN_UNSTEADY`,
	output: `
		FILE_UNWRITABLE BLOB_DISK_FULL BLOB_DISK_FAILED`,
	busy: `
		RATE_LIMITED STREAMS_TOO_MANY NOT_READY PROVIDER_KNOWN PROVIDER_RENTED PROBE_RUNNING OFFER_DEARER
		RENTAL_STATE JOB_STATE WATCH_BUDGET JOB_OFFER_EXPIRED JOB_QUOTA UP_RUNNING AGENT_CROWDED
		PROVIDER_BUSY PROVIDER_LIMIT ROLL_CALL_TOO_OFTEN PROVIDER_STOPPING DEVICE_TAKEN CHAIN_TAKEN CHAIN_BUSY
		STORE_CONFLICT ESCROW_REFUSED RENTAL_CONFLICT RENTAL_LIMIT BLOB_QUOTA BLOB_FULL RUN_BUSY CALL_TOO_LITTLE`,
	refused: `
		KEY_UNUSABLE HOST_KEY_CHANGED AUTH_FAILED CREDENTIALS_MISSING CREDENTIALS_REFUSED REQUEST_SIGNATURE
		REQUEST_STALE REQUEST_REPLAYED ROLE_WRONG CALLER_OTHER AGENT_PROOF_WRONG VALIDATOR_UNTRUSTED
		VALIDATOR_KEY_CHANGED TRIAL_ONLY`,
};

export const errorExits: readonly (readonly [code: string, exit: ErrorExit])[] = Object.entries(ERRORS).flatMap(
	([exit, list]) =>
		list
			.trim()
			.split(/\s+/)
			.map((code) => [code, exit as ErrorExit] as const),
);
const exitOf = new Map(errorExits);

/**
 * Codes of verdicts end as the verdict does. A code that is not known here came from a server of another
 * version; anything that is no AssayError is a bug of ours.
 */
export function errorToExitCode(error: unknown): number {
	if (!(error instanceof AssayError)) return exitCodes.internal.code;
	const { kind } = (codes as Readonly<Record<string, CodeEntry | undefined>>)[error.code] ?? {};
	if (kind === "verdict-invalid") return exitCodes.invalid.code;
	if (kind === "verdict-inconclusive") return exitCodes.inconclusive.code;
	return exitCodes[exitOf.get(error.code) ?? "unavailable"].code;
}
