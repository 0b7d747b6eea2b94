/**
 * Colours of charts as custom properties: those of VS Code's theme where there are any, else a light or a dark default.
 * High-contrast themes set the same variables, and outlines and stripes tell apart what colours may not.
 */

/** Of the curves after the first. */
const curves = ['orange', 'green', 'purple', 'red', 'cyan'] as const;

const names = ['blue', 'purple', 'green', 'orange', 'red'] as const;

const light = {
  blue: '#3572c6',
  purple: '#8250c4',
  green: '#2d8a4e',
  orange: '#d07a1a',
  red: '#b8202e',
  cyan: '#0aa2ad',
  grey: '#6e7781',
  text: '#1f2328',
  quiet: '#59636e',
  ground: '#ffffff',
};

const dark: typeof light = {
  blue: '#6ba4f8',
  purple: '#b48cf2',
  green: '#5cbf7e',
  orange: '#f2a945',
  red: '#f4636e',
  cyan: '#35c9d2',
  grey: '#97a0ab',
  text: '#e6edf3',
  quiet: '#9aa4af',
  ground: '#15191f',
};

const defaults = (colours: typeof light): string =>
  Object.entries(colours)
    .map(([name, colour]) => `--default-${name}:${colour};`)
    .join('');

const colourStyle = `
:root { ${defaults(light)} }
@media (prefers-color-scheme: dark) { :root { ${defaults(dark)} } }
@media print { :root { ${defaults(light)} } }
:root {
${names.map((name) => `--${name}: var(--vscode-charts-${name}, var(--default-${name}));`).join('\n')}
/* Not the yellow of charts: in the editor's own themes it is nearly their orange. */
--cyan: var(--vscode-terminal-ansiCyan, var(--default-cyan));
--grey: var(--vscode-descriptionForeground, var(--default-grey));
--text: var(--vscode-foreground, var(--default-text));
--quiet: var(--vscode-descriptionForeground, var(--default-quiet));
--ground: var(--vscode-editor-background, var(--default-ground));
--outline: var(--vscode-contrastBorder, transparent);
}
/* A high-contrast theme draws every edge, and writes nothing pale. */
body { --edge: color-mix(in srgb, var(--text) 22%, transparent); }
body.vscode-high-contrast { --edge: var(--vscode-contrastBorder, var(--text)); --quiet: var(--text); }`;

export const chartStyle = `${colourStyle}
.chart { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.chart text { fill: var(--text); }
.chart .quiet { fill: var(--quiet); }
.chart .middle { text-anchor: middle; } .chart .end { text-anchor: end; } .chart .strong { font-weight: 600; }
.chart .halo { paint-order: stroke; stroke: var(--ground); stroke-width: 4; stroke-linejoin: round; }
.chart .grid { stroke: var(--text); stroke-opacity: .13; }
.chart .mark { stroke: var(--text); stroke-opacity: .6; stroke-dasharray: 5 4; }
.chart .limit { stroke: var(--red); stroke-width: 2.5; stroke-dasharray: 7 4; }
.chart .curve { fill: none; stroke: var(--blue); stroke-width: 2; }
${curves
  .map(
    (colour, index) =>
      `.chart .curve-${index + 1} { stroke: var(--${colour});${index < 1 ? '' : ` stroke-dasharray: ${['9 4', '3 3', '12 3 3 3', '1 4'][index - 1]};`} } .chart .point-${index + 1} { fill: var(--${colour}); fill-opacity: .55; stroke: var(--${colour}); stroke-width: 1; }`,
  )
  .join('\n')}
.chart .roof { fill: none; stroke: var(--text); stroke-width: 1.6; }
.chart .band { fill: var(--blue); fill-opacity: .18; } .chart .ideal { fill: none; stroke: var(--text); stroke-opacity: .45; }
${curves.map((colour, index) => `.chart .band-${index + 1} { fill: var(--${colour}); }`).join(' ')}
.chart .inside { fill: var(--ground); pointer-events: none; }
.chart rect, .chart .area { stroke: var(--outline); stroke-width: .5; }
.chart .forward { fill: var(--blue); }
.chart .backward { fill: var(--purple); }
.chart .update { fill: var(--green); }
.chart .launch { fill: var(--grey); }
.chart .idle { fill: var(--ground); fill-opacity: .72; stroke: none; pointer-events: none; }
.chart .idle-key { fill: var(--grey); fill-opacity: .3; }
.chart .message { fill: var(--orange); }
.chart .input { fill: var(--cyan); }
.chart .runtime { fill: var(--text); fill-opacity: .35; }
.chart .parameters { fill: var(--blue); }
.chart .gradients { fill: var(--purple); }
.chart .state { fill: var(--green); }
.chart .activations { fill: var(--orange); }
.chart .workspace { fill: var(--cyan); }
.chart .buffers { fill: var(--grey); }
.chart .wait-ground { fill: var(--red); fill-opacity: .35; }
.chart .stripe { fill: var(--red); stroke: none; }
.chart .node { fill: var(--blue); fill-opacity: .30; stroke: var(--ground); stroke-width: 1.2; }
.chart .odd { fill-opacity: .48; }
.chart .wait { fill: url(#timeline-wait); } .chart.narrow .wait { fill: url(#timeline-wait-narrow); }
.chart circle { fill: var(--blue); fill-opacity: .55; stroke: var(--blue); }
.chart .memory-bound { fill: var(--ground); stroke: var(--orange); stroke-width: 1.6; }
.chart .none { fill: var(--ground); fill-opacity: 1; stroke: var(--red); stroke-width: 2; }
.chart [data-layer] { cursor: pointer; }
.chart [data-layer]:hover, .chart .here, .chart .now { stroke: var(--text); stroke-width: 1.5; }
`;
