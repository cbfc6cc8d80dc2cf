// SPDX-License-Identifier: MIT
// What is printed beside the overview and the flame graph: leaks and the largest stacks, in full.
import { type Facts, sinceWords } from "../facts";
import { bytes, digits, percent, things, visible } from "../format";
import { useSeep } from "../state";
import { measureName } from "./filters";
import { MEANING, withAll } from "./leaks";
import { largest } from "./overview";
import { Verdict, viaText } from "./parts";

const LEAKS_MAX = 30;
const STACKS_MAX = 20;
const FRAMES_MAX = 24;

function Lines({ frames }: { frames: ArrayLike<number> }) {
	const { model } = useSeep();
	const list = model.frames.parts(frames);

	return (
		<ol>
			{list.slice(0, FRAMES_MAX).map((part) => {
				const frame = frames[part.at];
				const { place } = model.frameText(frame);
				if (part.via) return <li key={part.at}><code>{viaText(model, frames, part)}</code></li>;
				return <li key={part.at}><code>{model.functionName(model.frames.functionOf[frame])}</code> <span class="place">{place}</span></li>;
			})}
			{list.length > FRAMES_MAX && <li>and {things(frames.length - list[FRAMES_MAX].at, "more frame")}</li>}
		</ol>
	);
}

export function Paper({ facts }: { facts: Facts }) {
	const { model, state } = useSeep();
	const measure = state.measure;
	const weights = model.weigh(state);
	const threadOf = (i: number) => {
		const thread = model.contexts.threads.list[model.contexts.threadOf[i]];
		return thread === undefined ? "" : `${visible(thread)}: `;
	};
	const leaks = [...facts.roots].sort((a, b) => withAll(b) - withAll(a)).slice(0, LEAKS_MAX);

	return (
		<div class="paper">
			{leaks.length > 0 && (
				<section>
					<h2>Leaks: the largest {digits(leaks.length)} of {digits(facts.roots.length)}</h2>
					{leaks.map((leak) => (
						<article key={leak.index}>
							<h3>
								<Verdict word={leak.verdict} /> {threadOf(leak.context)}{bytes(withAll(leak))}: {bytes(leak.bytes)} in {things(leak.blocks, "block")}
								{leak.withBytes > 0 && `, and ${bytes(leak.withBytes)} with them`}
							</h3>
							<p>{[leak.evidence ?? MEANING[leak.verdict]?.replace(/\.$/, ""), sinceWords(facts, leak.context)].filter(Boolean).join("; ")}.</p>
							<Lines frames={leak.frames} />
						</article>
					))}
				</section>
			)}
			<section>
				<h2>Largest {facts.diff ? "changes" : `call stacks: ${measureName(measure, facts).toLowerCase()}`}</h2>
				{largest(weights.value, STACKS_MAX).map((i) => (
					<article key={i}>
						<h3>
							{threadOf(i)}
							{model.isBytes(measure) ? bytes(weights.value[i]) : digits(weights.value[i])} ({percent(weights.value[i], weights.width)})
							{weights.blocks[i] ? ` in ${things(weights.blocks[i], "block")}` : ""}
						</h3>
						<Lines frames={model.contexts.frames(i, false)} />
					</article>
				))}
			</section>
		</div>
	);
}
