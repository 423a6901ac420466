// The dashboard's entry: pages by the first part of their path, loaded when asked for. The overview is in the
// first load.
import { render } from "preact";
import OverviewPage from "./pages/overview.tsx";
import { followNetwork } from "./shell/api.ts";
import { takeLinkClicks } from "./shell/router.ts";
import { type Pages, Shell } from "./shell/shell.tsx";
import { serviceWorkerUrl } from "./shell/trusted-url.ts";
import "./chain/chain.css";
import "./shell/base.css";
import "./parts/panels.css";
import "./parts/tables.css";
import "./parts/forms.css";
import "./proofs/proofs.css";
import "./verify/verify.css";
import "./rent/rent.css";
import "./disputes/disputes.css";
import "./why/why.css";
import "./programs/programs.css";
import "./jobs/jobs.css";
import "./parts/narrow.css";

const pages: Pages = {
	"": { title: "Overview", inNav: true, load: async () => ({ default: OverviewPage }) },
	rent: { title: "Rent", inNav: true, load: () => import("./pages/rent.tsx") },
	providers: { title: "Providers", inNav: true, load: () => import("./pages/providers.tsx") },
	probes: { title: "Probes", inNav: true, load: () => import("./pages/probes.tsx") },
	jobs: { title: "Jobs", inNav: true, load: () => import("./pages/jobs.tsx") },
	verify: { title: "Verify", inNav: true, load: () => import("./pages/verify.tsx") },
	market: { title: "Market", inNav: true, load: () => import("./pages/market.tsx") },
	programs: { title: "Programs", inNav: false, load: () => import("./pages/programs.tsx") },
	disputes: { title: "Disputes", inNav: false, load: () => import("./pages/disputes.tsx") },
	"roll-calls": { title: "Roll calls", inNav: true, load: () => import("./pages/roll-calls.tsx") },
	epochs: { title: "Epochs", inNav: true, load: () => import("./pages/epochs.tsx") },
	compare: { title: "Compare", inNav: false, load: () => import("./pages/compare.tsx") },
};

takeLinkClicks();
void followNetwork();
render(<Shell pages={pages} />, document.getElementById("app")!);
// Where it is forbidden or unknown everything works but offline use.
navigator.serviceWorker?.register(serviceWorkerUrl()).catch(() => {});
