// Where alerts go, for `assay validate`, `assay up` and `assay provide`. Not here: what is told, and how.
import type { CliIo } from "../command.ts";
import { list } from "../options.ts";

export const alertOption = list(
	"URL",
	"webhook that is told of invalid, slowed-down and missing providers, docs/operator.md (signed with ASSAY_ALERT_SECRET where that is set)",
	{ pattern: /^https?:\/\/[^\s@]+$/, is: "http:// or https:// without a login" },
);

/** The secret comes from the environment alone: a command line is seen by everybody on the machine. */
export const alertSettings = (urls: readonly string[] | undefined, { env }: CliIo) => ({
	urls: urls ?? [],
	secret: env.ASSAY_ALERT_SECRET || null,
});
