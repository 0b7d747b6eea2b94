/** What the page of a report looks like beside its charts. */

export const reportStyle = `
body { color: var(--text); background: var(--ground); font-size: .93rem; }
main { max-width: 76rem; margin: 0 auto; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
/* Charts and rows are laid out when the reader comes to them; until then they take about their room. */
figure, .rows { margin: 0 -3px; padding: 0 3px; display: flow-root; content-visibility: auto; contain-intrinsic-height: auto 26rem; }
figure > p, .pane > p { margin: .1rem 0 .6rem; color: var(--quiet); }
thead th { background: var(--ground); }
.glance { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .7rem; margin: 1rem 0 .6rem; }
.glance > div { border: 1px solid var(--edge); border-radius: .4rem; padding: .6rem .8rem; }
.glance dt { color: var(--quiet); font-size: .82rem; }
.glance dd { margin: 0; font-variant-numeric: tabular-nums; }
.glance b { display: block; font-size: 1.3rem; font-weight: 600; line-height: 1.35; }
.glance strong { display: block; } .glance strong::before { content: '✕ '; } .glance .warning strong::before { content: '! '; }
.glance > .error { border: 2px solid var(--red); border-left-width: .45rem; } .glance > .warning { border: 2px dashed var(--orange); }
.glance span { color: var(--quiet); font-size: .82rem; }
.limit-text { font-weight: 600; margin: .4rem 0; }
#what-if { border: 1px solid var(--edge); border-radius: .4rem; padding: .2rem .8rem .5rem; margin: 1rem 0; }
#what-if h2 { margin: .5rem 0; }
#what-if .controls { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .5rem 1rem; }
#what-if label.long { grid-column: 1 / -1; }
#what-if label > span:first-child { display: block; color: var(--quiet); font-size: .82rem; }
#what-if select, #what-if input[type=text] { width: 100%; box-sizing: border-box; }
#what-if select, #what-if input[type=text], #what-if button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--edge); border-radius: .3rem; padding: .2rem .5rem; }
#what-if button { cursor: pointer; } #what-if button:disabled { opacity: .5; cursor: default; }
#what-if input[type=range] { flex: 1; min-width: 0; accent-color: var(--blue); }
.slide { display: flex; gap: .6rem; align-items: center; } .slide output { min-width: 3.5ch; text-align: right; font-variant-numeric: tabular-nums; }
#what-if p { margin: .7rem 0 .2rem; } #tried-state { color: var(--quiet); margin-left: .5rem; }
#tried { margin: .4rem 0; padding-left: 1.3rem; font-size: .86rem; color: var(--quiet); } #tried button { padding: 0 .4rem; }
.findings { padding-left: 1.1rem; }
li { margin-bottom: .4rem; } .vscode-high-contrast code { color: inherit; background: none; padding: 0; }
li > b { border-bottom: 2px solid transparent; } li.error > b { border-color: var(--red); } li.warning > b { border-color: var(--orange); }
.narrow { display: none; }
details { margin: .4rem 0; } summary { cursor: pointer; color: var(--quiet); }
details table { width: auto; } details table.layers { width: 100%; }
.layers { font-size: .86rem; } .later { display: none; } .more { font: inherit; color: inherit; background: none; border: 0; padding: .4rem 0; }
.layers .name { max-width: 0; width: 40%; } .layers small { color: var(--quiet); }
.layers .name div { display: flex; flex-wrap: wrap; column-gap: .5ch; align-items: baseline; }
.layers .name :is(span, small) { white-space: pre-wrap; overflow-wrap: anywhere; } .layers .name code { display: flex; flex-wrap: wrap; } .layers .name span:empty { display: none; }
.layers .shape { white-space: nowrap; }
.layers .bar { width: 7rem; min-width: 3.5rem; padding-top: .55rem; }
.layers .bar svg { display: block; width: 100%; height: .6rem; }
.layers .forward { fill: var(--blue); } .layers .exposed { fill: var(--red); }
.layers tr.here td { background: color-mix(in srgb, var(--blue) 18%, transparent); }
.layers th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit; } .layers th button:hover { text-decoration: underline; }
th[aria-sort=ascending] button::after { content: ' ▲'; } th[aria-sort=descending] button::after { content: ' ▼'; }
.save { font: inherit; font-size: .82rem; color: var(--quiet); background: none; border: 0; padding: 0; margin: .4rem 0; float: right; cursor: pointer; } .save:hover { text-decoration: underline; }
.scripted tr[data-layer] { cursor: pointer; }
.tools { display: none; gap: 1rem; align-items: center; } .scripted .tools { display: flex; }
.tools input, .tools button { font: inherit; color: inherit; background: transparent; border: 1px solid var(--edge); border-radius: .3rem; padding: .15rem .5rem; }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 1px; }
#modules > input { position: absolute; opacity: 0; }
#modules > label { display: inline-block; padding: .15rem .7rem; margin: 0 .3rem .5rem 0; border: 1px solid var(--edge); border-radius: 1rem; cursor: pointer; }
#modules > input:checked + label { border-color: var(--blue); font-weight: 600; box-shadow: inset 0 0 0 1px var(--blue); }
#modules > input:focus-visible + label { outline: 2px solid var(--blue); outline-offset: 1px; }
.pane { display: none; }
${['time', 'saved', 'parameters', 'exposed'].map((name) => `#show-modules-${name}:checked ~ .modules-${name}`).join(', ')} { display: block; }
.summary { width: auto; }
.curve-points td { white-space: nowrap; } .curve-points .number:not(:first-child) { padding-left: .5rem; } .curve-points td:last-child { white-space: normal; min-width: 8rem; } .curve-points small { display: block; color: var(--quiet); }
.wide { overflow-x: auto; }
.compared td:not(.number) { overflow-wrap: anywhere; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
#tip { position: fixed; z-index: 2; max-width: 30rem; padding: .3rem .6rem; pointer-events: none; overflow-wrap: anywhere; background: var(--ground); border: 1px solid var(--edge); border-radius: .3rem; }
@media screen and (max-width: 70rem) {
  .layers { font-size: .8rem; } .layers :is(th, td) { padding-right: .45rem; } .layers .bar { width: 3.5rem; }
  .glance b { font-size: 1.1rem; } .glance > div { padding: .6rem; }
}
/* Beside a text: what a layer costs stays in sight, what it is leaves, and charts keep letters that can be read. */
@media screen and (max-width: 58rem) {
  body { margin: 1rem 0; padding: 0 1rem; }
  figure { overflow-x: auto; } .chart { min-width: 46rem; }
  .either .chart:not(.narrow) { display: none; } .either .narrow { display: block; min-width: 0; max-width: 32rem; }
  .layers .what { display: none; }
  /* One line a row: the modules of a name are cut first, then the type, then the layer's own name. */
  .layers .name :is(div, code) { flex-wrap: nowrap; } .layers .name :is(code, span, small) { min-width: 3ch; overflow: hidden; text-overflow: ellipsis; white-space: pre; }
  .layers .name code span { flex: 0 1000 auto; } .layers .name code span + span { flex-shrink: 1; min-width: 0; } .layers .name small { flex-shrink: 40; }
  .curve-points :is(th, td) { padding-right: .4rem; }
}
@media screen and (max-width: 48rem) { table { font-size: .87em; } th, td { padding-right: .4rem; } }
@media screen and (max-width: 40rem) {
  table { display: block; overflow-x: auto; } table:is(.compared, .layers) { display: table; } .layers .name { min-width: 8rem; }
  /* A row of a curve becomes four columns of two or three cells, below heads in the same order. */
  .curve-points tr { display: grid; grid-auto-flow: column; grid-template: auto auto / 3.6rem; grid-auto-columns: minmax(0, 1fr); border-bottom: 1px solid var(--edge); padding: .2rem 0; }
  .curve-points tr:has(> :nth-child(9)) { grid-template-rows: auto auto auto; }
  .curve-points :is(th, td) { border: 0; padding-bottom: 0; } .curve-points :is(th, td):last-child { min-width: 0; text-align: right; }
  .curve-points td:first-child { font-weight: 600; } .curve-points .number { white-space: normal; } .curve-points thead th { position: static; }
}
/* The time beside a bar says the same. */
@media screen and (max-width: 32rem) { .layers .bar { display: none; } }
@media screen and (max-width: 25rem) { table.layers { display: block; } }
@media print {
  body { margin: 0; padding: 0; font-size: 10px; } figure, .rows { content-visibility: visible; } .tools, .save, .more, #what-if, #modules > label { display: none; } thead th { position: static; }
  figure, tr, .glance > div { break-inside: avoid; } rect, circle, path { print-color-adjust: exact; }
}
`;
