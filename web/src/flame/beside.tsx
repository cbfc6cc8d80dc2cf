// SPDX-License-Identifier: MIT
// What stands beside a flame graph: what the search found, and all that is known of the box in focus.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { announce } from "../views/hooks";
import { boxFacts, type Meaning } from "./box_facts";
import { Facts } from "./pane";

export function Found(props: { problem: string | null; text: string; step: ((step: number) => void) | null }) {
	const { problem, text, step } = props;

	useEffect(() => announce(problem ?? text), [problem, text]);
	return (
		<div class="flame-found">
			<span class={problem ? "warn" : ""}>{problem ?? text}</span>
			{step && (
				<span class="pair controls">
					<button onClick={() => step(-1)} title="The match before (N)" aria-label="The match before">‹</button>
					<button onClick={() => step(1)} title="The next match (n)" aria-label="The next match">›</button>
				</span>
			)}
		</div>
	);
}

/** What is known of one box, below the graph. */
interface Shown {
	meaning: Meaning;
	node: number;
	/** Whether to say how to move about. */
	hint?: boolean;
	children?: ComponentChildren;
}

export function InFocus(props: Shown) {
	const facts = boxFacts(props.meaning, props.node);

	return (
		<div class="in-focus">
			<div class="in-focus-text">
				<Facts facts={facts} />
				{props.hint && (
					<p class="hint controls">
						<span class="by-mouse">Click a box to zoom into it; arrows, Enter and Backspace do so by keys.</span>
						<span class="by-touch">Tap a box for its figures, and once more to zoom into it.</span>
					</p>
				)}
			</div>
			<p class="row-buttons controls">{props.children}</p>
		</div>
	);
}
