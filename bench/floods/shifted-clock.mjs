// Loaded into a service before everything else (node --import): its wall clock is off by the milliseconds
// that stand in the file CLOCK_FILE, as if somebody had set the machine's. The time since boot and the
// monotonic clock go on.
import { readFileSync } from "node:fs";

const right = Date.now.bind(Date);
let offMs = 0;
const look = () => {
	try {
		offMs = Number(readFileSync(process.env.CLOCK_FILE, "utf8"));
	} catch {}
};
look();
setInterval(look, 100).unref();
Date.now = () => right() + offMs;
