// The page's policy lets no string become code: what a worker is loaded from must be one of our own files.
// Where a browser does not know trusted types the policy's `worker-src 'self'` stands alone.
declare const VERIFIER_WORKER: string;
declare const ROLL_CALL_WORKER: string;
declare const TRAINING_WORKER: string;
declare const JOB_WORKER: string;

const SERVICE_WORKER = "/service-worker.js";

interface Factory {
	createPolicy(
		name: string,
		rules: { createScriptURL: (url: string) => string },
	): { createScriptURL: (url: string) => unknown };
}
const factory = (globalThis as { readonly trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy("assay", {
	createScriptURL(url) {
		if (![VERIFIER_WORKER, ROLL_CALL_WORKER, TRAINING_WORKER, JOB_WORKER, SERVICE_WORKER].includes(url))
			throw new TypeError("no script of ours");
		return url;
	},
});

/** Typed as a string, since the DOM's types do not know the other. */
const trusted = (url: string): string => (policy === undefined ? url : (policy.createScriptURL(url) as string));

export const verifierWorkerUrl = () => trusted(VERIFIER_WORKER);
export const rollCallWorkerUrl = () => trusted(ROLL_CALL_WORKER);
export const trainingWorkerUrl = () => trusted(TRAINING_WORKER);
export const jobWorkerUrl = () => trusted(JOB_WORKER);
export const serviceWorkerUrl = () => trusted(SERVICE_WORKER);
