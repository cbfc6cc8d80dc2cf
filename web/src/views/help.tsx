// SPDX-License-Identifier: MIT
// Which keys there are.
import { useEffect, useRef } from "preact/hooks";

const KEYS: [title: string, keys: [key: string, what: string][]][] = [
	["Everywhere", [
		["1 … 9", "the views, in the order of their tabs"], ["/", "search"], ["t", "light or dark"], ["p", "print"],
		["Esc", "leave the search, take back a zoom or a brush"], ["?", "this help"],
	]],
	["Tabs", [["← →", "the view beside"], ["Home End", "the first, the last"]]],
	["Tables", [
		["↑ ↓ PgUp PgDn Home End", "move"], ["Enter, → and ←", "open, close a row"], ["c", "copy its call stack"],
		["Tab", "to the headers and buttons"],
	]],
	["Flame graph", [
		["← → ↑ ↓", "move from box to box"], ["Enter", "zoom in"], ["Backspace, Esc", "zoom out"], ["Home", "all"],
		["+ −", "widen, narrow; so do Ctrl and the wheel"], ["s", "callers and callees"], ["c", "copy the path"],
		["n, N", "next hit, the one before"],
	]],
	["Timeline", [["← →", "choose an epoch"], ["Shift ← →", "stretch to several"], ["Esc", "the whole run"]]],
];

const Key = ({ of }: { of: string }) => (
	<span>{/[\w/?←→↑↓+−]/.test(of) && of !== "and" ? <kbd>{of.replace(/,$/, "")}</kbd> : of} </span>
);

export function Help(props: { open: boolean; close: () => void }) {
	const ref = useRef<HTMLDialogElement>(null);

	useEffect(() => {
		if (props.open && !ref.current!.open) ref.current!.showModal();
		else if (!props.open) ref.current!.close();
	}, [props.open]);
	return (
		<dialog ref={ref} aria-labelledby="help-title" onClose={props.close} onClick={(event) => event.target === ref.current && props.close()}>
			<header>
				<h2 id="help-title">Keys</h2>
				<button onClick={props.close}>Close</button>
			</header>
			<dl class="keys">
				{KEYS.map(([title, keys]) => [
					<h3 key={title}>{title}</h3>,
					...keys.map(([key, what]) => [
						<dt key={key}>{key.split(" ").map((one, i) => <Key key={i} of={one} />)}</dt>,
						<dd key={what}>{what}</dd>,
					]),
				])}
			</dl>
		</dialog>
	);
}
