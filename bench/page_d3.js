// SPDX-License-Identifier: MIT
// The tree of a recording by d3-flame-graph, as its README shows it, without animation and without boxes
// narrower than a pixel. page.py bundles it with the tree.
import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";

const { names, nodes } = JSON.parse(document.getElementById("tree").textContent);
const made = nodes.map(([, name, value]) => ({ name: names[name], value, children: [] }));
nodes.forEach(([parent], at) => at && made[parent].children.push(made[at]));

const chart = flamegraph().width(innerWidth - 20).minFrameSize(1).transitionDuration(0).selfValue(false).inverted(true);
select("#chart").datum(made[0]).call(chart);
document.getElementById("search").addEventListener("input", (event) => chart.search(event.target.value));
