// SPDX-License-Identifier: MIT
// What the user chose: one small store, which every view reads by useSeep().
//
// The bar above the views (views/filters.tsx) sets measure, search, thread, scope, module, epochs
// and whole, for all views alike. The flame graph (flame/flame.tsx, FlameView without properties) has a
// bar of its own for direction, zoom and the function of its sandwich view.
// Keys: the shell takes ? / t and 1 to 9 (tabs) where no field has the focus; views take the others.
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Model } from "./model";

export type Measure = "live" | "lost" | "growing" | "peak" | "allocated" | "temporary";
export type Tab =
	| "overview"
	| "flame"
	| "timeline"
	| "stacks"
	| "functions"
	| "leaks"
	| "growth"
	| "processes"
	| "about"
	| "scopes"
	| "changes";

export interface State {
	tab: Tab;
	measure: Measure;
	direction: "icicle" | "flame";
	search: string;
	thread: string | null;
	/** A tag that was open. */
	scope: string | null;
	/** Index into document.modules, as a decimal number, or null. */
	module: string | null;
	/** First and last epoch, both included: only what was allocated then and still lives. */
	epochs: [number, number] | null;
	/** Function numbers from the root. */
	zoom: number[];
	/** The function of the sandwich view. */
	function: number | null;
	/** Whether the tags that were open stand in front of call stacks. */
	scoped: boolean;
	/** Whether plumbing (operator new, containers, what comes before main) is shown. */
	whole: boolean;
	/** Index of a context of the document (of a diff: a change). */
	selected: number | null;
}

export const initialState: State = {
	tab: "overview",
	measure: "live",
	direction: "icicle",
	search: "",
	thread: null,
	scope: null,
	module: null,
	epochs: null,
	zoom: [],
	function: null,
	scoped: false,
	whole: false,
	selected: null,
};

export class Store {
	state: State;
	#listeners = new Set<() => void>();

	constructor(state: State = initialState) {
		this.state = state;
	}

	set = (patch: Partial<State>): void => {
		this.state = { ...this.state, ...patch };
		for (const listener of [...this.#listeners]) listener();
	};

	/** Returns what ends the subscription. */
	subscribe = (listener: () => void): (() => void) => {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	};
}

export interface Seep {
	model: Model;
	store: Store;
}

export const SeepContext = createContext<Seep>(null as unknown as Seep);

/** One part of the state: the caller renders again only when that changes. */
export function usePart<T>(pick: (state: State) => T): T {
	const { store } = useContext(SeepContext);
	const [part, update] = useState(() => pick(store.state));

	useEffect(() => {
		const listen = () => update(() => pick(store.state));
		listen();
		return store.subscribe(listen);
	}, [store]);
	return part;
}

/** The model, the present state, and how to change it; the caller renders again on each change. */
export function useSeep(): { model: Model; state: State; set: (patch: Partial<State>) => void } {
	const { model, store } = useContext(SeepContext);
	const [state, update] = useState(store.state);

	useEffect(() => {
		update(store.state);
		return store.subscribe(() => update(store.state));
	}, [store]);
	return { model, state, set: store.set };
}
