/** What pages share: a style that is light or dark as the reader prefers. */

export const pageStyle = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; padding: 0 1.5rem; max-width: 100rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; }
th, td { padding: .2rem .7rem .2rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); vertical-align: top; }
thead th { position: sticky; top: 0; background: Canvas; }
.number { text-align: right; white-space: nowrap; }`;
