// SPDX-License-Identifier: MIT
// What was done wrong with blocks of the heap. It comes first, since all else may follow from it.
import { after, type Facts, isCounted, said } from "../facts";
import { digits } from "../format";
import { array, figure, isIndex, type Loose } from "../model/read";
import { Site, Stack } from "./parts";

const STACKS: [key: string, title: string][] = [["here_frames", "Where"], ["free_frames", "Freed before"], ["alloc_frames", "Allocated"]];
const FINDINGS_MAX = 1000;

function Finding({ finding, facts, print }: { finding: Loose; facts: Facts; print?: boolean }) {
	const suppressed = said(finding.suppressed_by);
	const thread = said(finding.thread);
	const { model } = facts;
	const frames = (key: string) => array(finding[key]).filter((frame): frame is number => isIndex(frame, model.frames.count));
	const [inner, outer] = array(finding.trim).map((one) => figure(one));
	const whole = frames("here_frames");
	const here = whole.slice(inner, whole.length - outer);

	return (
		<li>
			<p class={suppressed ? "muted" : ""}><b>{said(finding.text) ?? said(finding.kind)}</b></p>
			<p class="muted">
				{[
					thread && `thread ${thread}`,
					figure(finding.at_ns) > 0 && `first ${after(facts, figure(finding.at_ns))} after the start`,
					`hash:${said(finding.hash) ?? ""}`,
					suppressed && `suppressed by ${suppressed}`,
				].filter(Boolean).join(" · ")}
			</p>
			<details open={print}>
				<summary>{here.length ? <Site frames={here} /> : "Stacks"}</summary>
				{STACKS.filter(([key]) => frames(key).length > 0).map(([key, title]) => (
					<>
						<h3>{title}</h3>
						<Stack context={-1} frames={frames(key)} />
					</>
				))}
			</details>
		</li>
	);
}

export function Misuse({ facts, print }: { facts: Facts; print?: boolean }) {
	const { findings } = facts;

	if (!findings.length) return null;
	return (
		<section class="card misuse">
			<h2>Heap errors <span class="badge warn">{digits(findings.filter(isCounted).length)}</span></h2>
			<ol>
				{findings.slice(0, FINDINGS_MAX).map((one, i) => <Finding key={i} finding={one} facts={facts} print={print} />)}
			</ol>
		</section>
	);
}
