// Runs before everything else, as a classic script: the chosen theme before the first paint, and zod told
// that this page's policy has no eval (it would try, and the browser would report a violation).
(globalThis as { __zod_globalConfig?: object }).__zod_globalConfig = { jitless: true };
try {
	const theme = localStorage.getItem("theme");
	if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
	// Storage may be forbidden: then the system's theme it is.
}
