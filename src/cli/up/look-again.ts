// What `assay up` asks of its own API, as long as it runs.
import { realAfter } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import { AssayError } from "../../protocol/assay-error.ts";

/** Asks the API again and again. It may be closed before this is stopped. */
export function lookAgain(look: () => Promise<void>, everyMs = 3000): ReturnType<typeof repeat> {
	const onError = (error: unknown) => {
		if (!(error instanceof AssayError)) throw error;
	};
	return repeat({ everyMs, after: realAfter, onError }, look);
}
