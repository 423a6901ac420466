// The log: structured lines on standard error, so that results on standard output stay clean.
import { destination, type Logger, pino } from "pino";

export function createLogger(level: "debug" | "info" | "warn" | "error"): Logger {
	return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination({ fd: 2, sync: false }));
}
