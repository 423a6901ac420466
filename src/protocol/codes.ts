// The one table of codes: what a verdict, a finding or an error can say, what it means and what to do about it.
// docs/codes.md is made from it and a test keeps the two in step. A code is never reused for something else.

export type CodeKind = "verdict-invalid" | "verdict-inconclusive" | "finding" | "error";

export interface CodeEntry {
	readonly kind: CodeKind;
	readonly meaning: string;
	readonly hint: string;
}

const FORGED = "Do not trust this file; ask for the original, or probe again.";
const CHEAT = "The provider did not do the work it was asked for. Probe again to be sure, then do not pay.";
const VERIFIER = "The verifier that wrote this file is at fault or lying; probe with one that you trust.";

const invalid = (meaning: string, hint: string): CodeEntry => ({ kind: "verdict-invalid", meaning, hint });
const inconclusive = (meaning: string, hint: string): CodeEntry => ({ kind: "verdict-inconclusive", meaning, hint });
const finding = (meaning: string, hint: string): CodeEntry => ({ kind: "finding", meaning, hint });
const error = (meaning: string, hint: string): CodeEntry => ({ kind: "error", meaning, hint });

export const codes = {
	// The file
	FILE_TOO_LARGE: invalid("The file or its envelope is larger than any evidence may be.", FORGED),
	FILE_NOT_EVIDENCE: invalid("The file does not begin as an evidence file does.", "Give the path of an evidence file."),
	FILE_TRUNCATED: invalid("The file ends before its last attachment does.", "Copy the file again; it was cut short."),
	FILE_SURPLUS: invalid("Bytes follow the last attachment.", FORGED),
	ENVELOPE_SPELLING: invalid("The envelope is not canonical JSON.", FORGED),
	ENVELOPE_SHAPE: invalid("A field of the envelope is missing, surplus or of the wrong kind.", FORGED),
	ATTACHMENT_HASH: invalid("An attachment's bytes are not those that the envelope names.", FORGED),
	ATTACHMENT_ORDER: invalid("Attachments are not used once each, in the order of the challenges.", VERIFIER),
	RECORD_MALFORMED: invalid("An attachment does not divide into whole records.", VERIFIER),

	// Who signed it, and for whom
	SIGNATURE_WRONG: invalid("The signature does not belong to this content.", FORGED),
	SIGNER_UNKNOWN: invalid(
		"The signer is not one of those that were expected.",
		"Accept this key only if you know whose it is.",
	),
	REPLAYED: invalid(
		"This is the evidence of another probe, or of one that was already seen.",
		"Ask for a fresh probe.",
	),
	STALE: invalid("The probe was made outside the time that was asked for.", "Ask for a fresh probe."),
	TARGET_OTHER: invalid("The probe was made of another target.", "Ask for evidence of the target you mean."),

	// What was asked
	NO_CHALLENGES: invalid("Nothing was asked, so nothing is proven.", VERIFIER),
	NO_SAMPLES: invalid("A challenge opens no places, so its answer is unchecked.", VERIFIER),
	SPEC_LIMITS: invalid("A challenge's parameters lie outside the protocol's limits.", VERIFIER),
	SPEC_DEVICE: invalid("A challenge names a device that the host did not claim.", VERIFIER),
	SPEC_OF: invalid("A stream names no finished gemm of its own device right before it.", VERIFIER),
	STAGE_ORDER: invalid("Stages are not numbered 0, 1, 2, …, or one asks a device twice.", VERIFIER),
	WORK_LIMIT: invalid("Checking this file would take longer than a verifier is willing to work.", VERIFIER),
	DEVICE_REPEATED: invalid("Two claimed GPUs carry one UUID.", "One device may be posing as two: count it once."),

	// When
	TIME_ORDER: invalid("Times run backwards, or past the end of the probe.", VERIFIER),
	TIME_ZERO: invalid("An answer came in no time at all.", VERIFIER),
	STAGES_OVERLAP: invalid("A stage began before the one before it had ended.", VERIFIER),
	COMMITMENT_AFTER_OPENING: invalid("Places were named before the last root had come.", CHEAT),

	// Roots
	ROOTS_MISSING: invalid("Fewer roots came than rounds were asked for.", CHEAT),
	ROOTS_SURPLUS: invalid("More roots came than rounds were asked for.", CHEAT),
	ROOT_REPEATED: invalid("A round's root came twice.", CHEAT),
	ROOT_ORDER: invalid("Roots did not come in the order of their rounds.", CHEAT),
	END_WRONG: invalid("An answer ended in a way that its challenge does not allow.", VERIFIER),

	// Openings
	OPENS_MISSING: invalid("A commitment was never opened.", VERIFIER),
	OPENS_WRONG: invalid("The openings asked for are not those that the challenge needs.", VERIFIER),
	OPENING_WITHHELD: invalid("The provider committed, saw which places were drawn, and did not open them.", CHEAT),
	STREAM_WITHHELD: invalid("The provider committed to kept bytes and did not answer for them.", CHEAT),
	OPENINGS_MISSING: invalid("Fewer places were opened than drawn.", CHEAT),
	OPENINGS_SURPLUS: invalid("More places were opened than drawn.", CHEAT),
	OPENING_REPEATED: invalid("A place was opened twice instead of another one.", CHEAT),
	OPENING_ORDER: invalid("Places were opened in another order than drawn.", CHEAT),
	OPENING_PLACE: invalid("A place was opened that was not drawn.", CHEAT),
	LEAF_LENGTH: invalid("An opened leaf is not 1 KiB.", CHEAT),
	PATH_LENGTH: invalid("A Merkle path is longer or shorter than its place allows.", CHEAT),
	ROOT_MISMATCH: invalid("An opened leaf does not lead to the committed root.", CHEAT),
	ELEMENT_WRONG: invalid("An element of a product is not what its seed gives.", CHEAT),
	LANE_WRONG: invalid("A lane's final bits are not what its seed gives.", CHEAT),
	DIGEST_WRONG: invalid("A digest is not that of the kept leaf beneath it.", CHEAT),
	CARD_CONTRADICTED: invalid(
		"The card that the host claims cannot have given the figures that were proven.",
		"The host sells another card, or it is shared or broken. docs/profiles.md has what the claimed card can do.",
	),
	STREAM_LATE: invalid("The kept bytes came so late that they could have been recomputed or fetched.", CHEAT),

	// Figures
	FIGURES_MISMATCH: invalid("The figures in the file are not those that its content gives.", VERIFIER),
	INTERNAL: invalid(
		"The verifier met a case that it was not written for.",
		"Report this file: it shows a mistake in the verifier.",
	),

	// Inconclusive: never punished
	CHALLENGE_REFUSED: inconclusive(
		"The engine refused a challenge before committing to an answer.",
		"Read the engine's message; free the device's memory and probe again.",
	),
	CHALLENGE_SILENT: inconclusive(
		"No commitment came before the deadline, or the link broke.",
		"Check the connection and probe again.",
	),
	CHALLENGE_GARBAGE: inconclusive(
		"The engine's answer broke the protocol before a commitment.",
		"Check that the engine is the one you sent, then probe again.",
	),
	ABORTED: inconclusive("The probe was stopped before its end.", "Probe again and let it finish."),

	// Findings: worth telling, no proof either way
	LOW_SAMPLES: finding(
		"Fewer places were checked than a full probe checks.",
		"Read the confidence beside each figure, or probe without --quick.",
	),
	MEMORY_PARTIAL: finding(
		"Less than 90 % of a GPU's claimed memory was proven resident.",
		"Probe without --quick, with nothing else running on the device.",
	),
	CARD_OTHER: finding(
		"Another card explains the proven figures clearly better than the claimed one.",
		"A busy or power-capped host can look like that. Probe again with nothing else running.",
	),
	CARD_UNKNOWN: finding(
		"The claimed name, or what was proven, fits no card of the profile table.",
		"Judge by the figures; docs/profiles.md has the known cards.",
	),
	MEMORY_UNPROVEN: finding(
		"A CPU's memory was read too slowly to tell it from a disk; no bytes are counted.",
		"Probe again while the host is less busy.",
	),
	NO_GPU_PROVEN: finding(
		"No figure of any GPU was proven.",
		"Expected on a host without a GPU; otherwise see what the engine says of its driver.",
	),
	DISTANT_ENGINE: finding(
		"The engine answers much later than its host shakes hands: it may be somewhere else.",
		"Ask the provider where the device stands.",
	),
	STAGE_APART: finding(
		"GPUs of one stage did not all work in one instant.",
		"Figures of several GPUs may then not hold together; probe again.",
	),

	// Errors: what the user or the surroundings did
	NOT_CANONICAL: error("A value cannot be written as canonical JSON.", "Report this: it is a mistake in the program."),
	USAGE: error("The command line was not understood.", "See the command's --help."),
	FILE_UNREADABLE: error("A file could not be read.", "Check its path and permissions."),
	FILE_UNWRITABLE: error("A file could not be written.", "Check its folder and permissions."),
	CLAIM_BAD: error("What the host says of itself is not a claim.", "Check that the engine is the one you sent."),
	FRAME_BAD: error(
		"A frame breaks the wire protocol.",
		"Check that the far side runs the engine and nothing prints to its output.",
	),
	FRAME_TOO_LARGE: error(
		"A frame is longer than the protocol allows.",
		"Check that the far side runs the engine and nothing prints to its output.",
	),
	REPLY_WRONG: error("A reply does not fit what was asked.", "Check that the engine is the one you sent."),
	REPLY_UNASKED: error("A reply came to nothing that was asked.", "Check that the engine is the one you sent."),
	KEY_UNUSABLE: error("The verifier's key could not be used.", "Check the key file and its permissions."),
	TARGET_BAD: error("The target was not understood.", "Use local or ssh://user@host[:port]."),
	ENGINE_MISSING: error(
		"There is no engine for the target's platform.",
		"Run `assay doctor` to see what this machine can build.",
	),
	ENGINE_NOT_STARTED: error("The engine could not be started.", "Run `assay doctor`; read the message of the system."),
	ENGINE_REFUSED: error("The engine refused a request.", "Read its message."),
	ENGINE_VERSION: error(
		"The engine speaks another version of the protocol.",
		"Build or upload the engine of this version.",
	),
	ENGINE_LOST: error(
		"The engine could not follow what was sent and gave up.",
		"Probe again; if it stays, the connection changes bytes or the engine is not ours.",
	),
	ENGINE_HASH_MISMATCH: error(
		"The host hashes the uploaded engine to something else.",
		"Its disk may be full or broken, or something there changes programs.",
	),
	PLATFORM_UNSUPPORTED: error("The target's platform is not supported.", "Linux on x86-64 or arm64 is."),
	LINK_CLOSED: error("The link to the engine was closed.", "Check the connection and probe again."),
	LINK_DEADLINE: error(
		"Something came, but the answer was not complete at its deadline.",
		"The device is slower than expected or the engine is stuck; probe again.",
	),
	LINK_SILENT: error("Nothing came before the deadline.", "Check the connection and probe again."),
	LINK_FLOOD: error("The far side sends without end.", "Check that the engine is the one you sent."),
	HOST_UNREACHABLE: error(
		"The host cannot be reached over ssh.",
		"Check its name, its port and that an SSH server runs there.",
	),
	HOST_SILENT: error(
		"The host let us in and then did not answer.",
		"It is stuck or its line is slow; try a longer timeout.",
	),
	HOST_KEY_CHANGED: error(
		"The host's key is not the one that was pinned.",
		"If the host was set up anew, forget the old key (the message says how); otherwise do not connect.",
	),
	AUTH_FAILED: error(
		"The host did not let us in.",
		"Check the user, and the key or password; ssh itself must be able to log in.",
	),
	SSH_FAILED: error(
		"ssh failed for a reason of its own.",
		"Read its message; ssh itself must be able to run a command there.",
	),
	SSH_MISSING: error("There is no ssh program on this machine.", "Install the OpenSSH client."),
	REMOTE_GARBAGE: error(
		"The host's answers to plain commands make no sense.",
		"The login must allow running programs: no forced command, no menu, no restricted shell.",
	),
	REMOTE_HASH_MISSING: error("The host has no program for SHA-256.", "Install coreutils, perl or openssl there."),
	REMOTE_WRITE_FAILED: error(
		"The engine cannot be stored on the host.",
		"Its user's cache folder must be writable and have room.",
	),
} as const satisfies Readonly<Record<string, CodeEntry>>;

export type Code = keyof typeof codes;
