// Loads node:test so that it knows by their context which test began what, and not by a hook for every
// promise: with its own hook an await takes some twenty times as long, and whatever waits much twice as long
// of a core. What a test throws later is still its own. Loaded by --import into processes of tests
// (run-tests.ts), before anybody asks for node:test. Plain JavaScript, as scripts/running-tests.mjs. Not
// here: anything for programs, which get Node's own.
import hooks from "node:async_hooks";
import { isMainThread } from "node:worker_threads";

const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = hooks;
/** The number of the test, or of what reports, that began what runs now. */
const begunBy = new AsyncLocalStorage();
const FOLLOWED = new Set(["Test", "TestReporterScope"]);
/** How node:test keeps a new test by its number. */
let keep = (_id, _type, _by, _test) => {};

/** Tests, suites and what runs before and after them extend it. */
class Followed extends AsyncResource {
	#isFollowed;

	constructor(type, ...more) {
		super(type, ...more);
		this.#isFollowed = FOLLOWED.has(type);
		if (this.#isFollowed) keep(this.asyncId(), type, 0, this);
	}

	runInAsyncScope(run, self, ...args) {
		if (!this.#isFollowed) return super.runInAsyncScope(run, self, ...args);
		// It goes back to the context in which it was made: ours must be inside of that.
		return super.runInAsyncScope(() => begunBy.run(this.asyncId(), () => Reflect.apply(run, self, args)));
	}
}

if (isMainThread) {
	const followed = {
		AsyncResource: Followed,
		executionAsyncId: () => begunBy.getStore() ?? executionAsyncId(),
		createHook: ({ init }) => ({
			enable() {
				keep = init;
			},
			disable() {},
		}),
	};
	Object.assign(hooks, followed);
	await import("node:test");
	Object.assign(hooks, { AsyncResource, createHook, executionAsyncId });
}
