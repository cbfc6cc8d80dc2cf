// SPDX-License-Identifier: MIT
// The page: its head, its tabs, the bar of filters, and the view that is open.
import { type ComponentChildren, type RefObject, render } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Facts, gather, said } from "./facts";
import { drawn } from "./flame/pane";
import { FlameView } from "./flame/view";
import { basename, digits, duration, moment } from "./format";
import { loadModel, type Model } from "./model";
import { array, figure, object } from "./model/read";
import { initialState, SeepContext, Store, type Tab, usePart } from "./state";
import { About, endedWords, Processes } from "./views/about";
import { Changes, DiffOverview, diffFacts } from "./views/changes";
import { Filters } from "./views/filters";
import { Growth } from "./views/growth";
import { Help } from "./views/help";
import { setAnnouncer } from "./views/hooks";
import { Leaks } from "./views/leaks";
import { Overview } from "./views/overview";
import { Paper } from "./views/paper";
import { Scopes } from "./views/scopes";
import { Functions, Stacks } from "./views/stacks";
import { Timeline } from "./views/timeline";

interface View {
	tab: Tab;
	name: string;
	/** How many there are to see. */
	badge?: number;
	warn?: boolean;
	/** Which bar of filters is above it: with the measure, or without. */
	filters?: "all" | "kept";
	show: () => ComponentChildren;
}

function reportViews(facts: Facts, model: Model): View[] {
	const { doc } = facts;
	const others = array(object(doc.run).others).length;
	const views: (View | false)[] = [
		{ tab: "overview", name: "Overview", show: () => <Overview facts={facts} /> },
		{ tab: "flame", name: "Flame graph", filters: "all", show: () => <FlameView /> },
		{ tab: "timeline", name: "Timeline", filters: "kept", show: () => <Timeline facts={facts} /> },
		{ tab: "stacks", name: "Stacks", badge: model.contexts.count, filters: "all", show: () => <Stacks facts={facts} /> },
		{ tab: "functions", name: "Functions", filters: "all", show: () => <Functions facts={facts} /> },
		{ tab: "leaks", name: "Leaks", badge: facts.scanned || facts.roots.length ? facts.roots.length : undefined, warn: facts.roots.length > 0, filters: "kept", show: () => <Leaks facts={facts} /> },
		{ tab: "growth", name: "Growth", badge: facts.judged || facts.growth.length ? facts.growth.length : undefined, warn: facts.growth.length > 0, filters: "kept", show: () => <Growth facts={facts} /> },
		model.scopes.rows.length > 0 && { tab: "scopes", name: "Scopes", badge: model.scopes.rows.length, show: () => <Scopes /> },
		others > 0 && { tab: "processes", name: "Processes", badge: others, show: () => <Processes facts={facts} /> },
		{ tab: "about", name: facts.unseen.length ? "Not seen, about" : "About", badge: facts.unseen.length || undefined, show: () => <About facts={facts} /> },
	];
	return views.filter((view): view is View => view !== false);
}

function diffViews(facts: Facts, model: Model): View[] {
	return [
		{ tab: "overview", name: "Overview", show: () => <DiffOverview facts={facts} /> },
		{ tab: "changes", name: facts.doc.before == null ? "Held" : "Changes", badge: model.contexts.count, filters: "kept", show: () => <Changes facts={facts} /> },
		{ tab: "flame", name: "Flame graph", filters: "all", show: () => <FlameView /> },
		{ tab: "functions", name: "Functions", filters: "all", show: () => <Functions facts={facts} /> },
		{ tab: "about", name: facts.unseen.length ? "Not seen, about" : "About", badge: facts.unseen.length || undefined, show: () => <About facts={facts} /> },
	];
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

/** The user's choice stays in this browser where that is allowed; otherwise it is the system's. */
function chosenTheme(): string | null {
	try {
		return localStorage.getItem("seep-theme");
	} catch {
		return null;
	}
}

function useThemeToggle(): [string, () => void] {
	const [chosen, choose] = useState(chosenTheme);
	const [dark, setDark] = useState(prefersDark.matches);
	const theme = chosen === "light" || chosen === "dark" ? chosen : dark ? "dark" : "light";

	useEffect(() => {
		const listen = () => setDark(prefersDark.matches);
		prefersDark.addEventListener("change", listen);
		return () => prefersDark.removeEventListener("change", listen);
	}, []);
	document.documentElement.dataset.theme = theme;
	return [
		theme,
		() => {
			const next = theme === "dark" ? "light" : "dark";
			choose(next);
			try {
				localStorage.setItem("seep-theme", next);
			} catch {
				// A page from a file may be forbidden to keep anything.
			}
		},
	];
}

function Head(props: { facts: Facts; theme: string; toggleTheme: () => void; help: () => void }) {
	const { facts } = props;
	const { model } = useContext(SeepContext);
	const process = object(facts.doc.process);
	const started = figure(process.start_realtime_ns);
	const file = basename(said(object(model.view).file) ?? "");
	const words = facts.diff
		? diffFacts(facts)
		: [
				file !== facts.title && file,
				process.pid !== null && `pid ${figure(process.pid)}`,
				started && moment(started),
				facts.ranNs !== null && `ran ${duration(facts.ranNs)}`,
				facts.imported ? "imported" : endedWords(facts),
			].filter(Boolean).join(" · ");

	return (
		<header class="head">
			<h1 title={facts.title}>{facts.diff ? "What changed" : facts.title}</h1>
			<p class="facts" title={words}>{words}</p>
			<div class="buttons controls">
				<button class="quiet" title="Print (p)" onClick={() => print()}>Print</button>
				<button class="quiet" title="Light or dark (t)" onClick={props.toggleTheme}>
					{props.theme === "dark" ? "Light" : "Dark"}
				</button>
				<button class="quiet" title="Keys (?)" aria-label="Keys" onClick={props.help}>?</button>
			</div>
		</header>
	);
}

function Tabs({ views, tab }: { views: View[]; tab: Tab }) {
	const { set } = useContext(SeepContext).store;
	const list = useRef<HTMLDivElement>(null);

	useEffect(() => {
		list.current!.querySelector('[aria-selected="true"]')!.scrollIntoView({ block: "nearest", inline: "nearest" });
	}, [tab]);

	function key(event: KeyboardEvent): void {
		const at = views.findIndex((view) => view.tab === tab);
		const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: views.length - 1 }[event.key];
		if (to === undefined) return;
		const next = views[(to + views.length) % views.length];
		set({ tab: next.tab });
		document.getElementById(`tab-${next.tab}`)!.focus();
		event.preventDefault();
	}

	return (
		<nav class="tabs controls" aria-label="Views">
			<div role="tablist" aria-label="Views" ref={list} onKeyDown={key}>
				{views.map((view) => (
					<button
						key={view.tab}
						id={`tab-${view.tab}`}
						role="tab"
						aria-selected={view.tab === tab}
						aria-controls={view.tab === tab ? `panel-${view.tab}` : undefined}
						tabIndex={view.tab === tab ? 0 : -1}
						onClick={() => set({ tab: view.tab })}
					>
						{view.name}
						{view.badge !== undefined && <span class={`badge${view.warn ? " warn" : ""}`}>{digits(view.badge)}</span>}
					</button>
				))}
			</div>
		</nav>
	);
}

/** The view is named in the address, so that reloading and going back keep it. */
const hashTab = () => (location.hash.slice(1) || "overview") as Tab;

/** Whether a key is meant for what has the focus. */
function isTyping(event: KeyboardEvent): boolean {
	const target = event.target as HTMLElement;
	return event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.isContentEditable;
}

function useKeys(keys: Record<string, () => void>): void {
	const latest = useRef(keys);
	latest.current = keys;

	useEffect(() => {
		const listen = (event: KeyboardEvent) => {
			const act = latest.current[event.key];
			if (!act || isTyping(event) || document.querySelector("dialog[open]")) return;
			act();
			event.preventDefault();
		};
		addEventListener("keydown", listen);
		return () => removeEventListener("keydown", listen);
	}, []);
}

/**
 * What is only printed, rendered at once when printing begins: what state there is by then, and
 * nothing to render again before.
 */
function usePaper(facts: Facts): [top: RefObject<HTMLDivElement | null>, bottom: RefObject<HTMLDivElement | null>] {
	const seep = useContext(SeepContext);
	const top = useRef<HTMLDivElement>(null);
	const bottom = useRef<HTMLDivElement>(null);

	useEffect(() => {
		const media = matchMedia("print");
		const fill = (printing: boolean) => {
			const on = (children: ComponentChildren) => printing && <SeepContext.Provider value={seep}>{children}</SeepContext.Provider>;
			render(on(facts.diff ? <DiffOverview facts={facts} /> : <Overview facts={facts} print />), top.current!);
			render(on(<Paper facts={facts} />), bottom.current!);
		};
		const begin = () => fill(true);
		const end = () => fill(false);
		const change = () => fill(media.matches);
		addEventListener("beforeprint", begin);
		addEventListener("afterprint", end);
		media.addEventListener("change", change);
		return () => {
			removeEventListener("beforeprint", begin);
			removeEventListener("afterprint", end);
			media.removeEventListener("change", change);
		};
	}, []);
	return [top, bottom];
}

function Shell({ facts }: { facts: Facts }) {
	const { model, store } = useContext(SeepContext);
	const { set } = store;
	const tab = usePart((state) => state.tab);
	const [top, bottom] = usePaper(facts);
	const views = useMemo(() => (facts.diff ? diffViews : reportViews)(facts, model), [facts]);
	const view = views.find((one) => one.tab === tab) ?? views[0];
	const [theme, toggleTheme] = useThemeToggle();
	const [help, setHelp] = useState(false);
	const visited = useRef(new Set<Tab>()).current;
	visited.add(view.tab);

	useEffect(() => {
		document.title = `${facts.title} – seep`;
		const listen = () => {
			const tab = hashTab();
			if (views.some((one) => one.tab === tab)) set({ tab });
		};
		// Going back, and typing another view into the address.
		addEventListener("popstate", listen);
		return () => removeEventListener("popstate", listen);
	}, []);
	useEffect(() => {
		if (hashTab() !== view.tab) history.pushState(null, "", `#${view.tab}`);
	}, [view.tab]);
	useKeys({
		"?": () => setHelp(true),
		t: toggleTheme,
		p: () => print(),
		"/": () => {
			if (!view.filters) set({ tab: facts.diff ? "changes" : "stacks" });
			setTimeout(() => document.getElementById("search")?.focus());
		},
		...Object.fromEntries(views.slice(0, 9).map((one, i) => [`${i + 1}`, () => set({ tab: one.tab })])),
	});

	return (
		<>
			<Head facts={facts} theme={theme} toggleTheme={toggleTheme} help={() => setHelp(true)} />
			<Tabs views={views} tab={view.tab} />
			{view.filters && <Filters facts={facts} measures={view.filters === "all"} />}
			<div class="print-only light" ref={top} />
			<main>
				{views.map((one) => visited.has(one.tab) && (one === view || one.tab === "flame") && (
					<div
						key={one.tab}
						id={`panel-${one.tab}`}
						class={`panel panel-${one.tab}`}
						role="tabpanel"
						tabIndex={one.filters ? undefined : 0}
						aria-labelledby={`tab-${one.tab}`}
						hidden={one !== view}
					>
						{one.show()}
					</div>
				))}
			</main>
			<div class="print-only light" ref={bottom} />
			<div class="hidden-text" role="status" aria-live="polite" ref={setAnnouncer} />
			<Help open={help} close={() => setHelp(false)} />
		</>
	);
}

export function App({ data }: { data: unknown }) {
	const seep = useMemo(() => {
		const model = loadModel(data as object);
		const store = new Store({ ...initialState, measure: model.mainMeasure, tab: hashTab() });
		// For the browser's console, and for tests of what is drawn.
		Object.defineProperty(window, "seep", { value: Object.freeze({ model, store, drawn }) });
		return { model, facts: gather(model), store };
	}, []);

	return (
		<SeepContext.Provider value={seep}>
			<Shell facts={seep.facts} />
		</SeepContext.Provider>
	);
}
