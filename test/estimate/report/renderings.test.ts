/** Every rendering of one small report, read as a person reads it. */

import { expect, it } from 'vitest';
import { describeScenario } from '../../../server/src/estimate/report/describeScenario.ts';
import { pageScript } from '../../../server/src/estimate/report/pageScript.ts';
import { renderCsv } from '../../../server/src/estimate/report/renderCsv.ts';
import { renderHtml } from '../../../server/src/estimate/report/renderHtml.ts';
import { renderMarkdown } from '../../../server/src/estimate/report/renderMarkdown.ts';
import { renderTable } from '../../../server/src/estimate/report/renderTable.ts';
import { reportSchema } from '../../../server/src/estimate/report/report.ts';
import { smallReport as report } from '../../support/smallReport.ts';

it('is a report by its own schema', () => {
  expect(reportSchema.parse(report)).toEqual(report);
});

it.each([
  [
    'training',
    { compile: 'true', 'bucket-mb': '9' },
    'adamw, pytorch-ddp (compile=true, bucket-mb=9), training',
  ],
  ['inference', { compile: 'true' }, 'bf16, pytorch-ddp (compile=true), inference'],
  ['inference', undefined, 'bf16, inference'],
])('says in %s which options of the framework were asked for: %j', (mode, frameworkOptions, said) => {
  const scenario = { ...report.scenario, mode, ...(frameworkOptions && { frameworkOptions }) };
  expect(describeScenario(reportSchema.parse({ ...report, scenario }))).toContain(said);
});

it('renders a table', () => {
  expect(renderTable(report)).toMatchInlineSnapshot(`
    "tiny (onnx): 2,362,368 parameters, all taken as trained, 3 operators in 3 layers
    dgx-a100: 1 node, 8 × A100 SXM 40 GB, batch 4 per GPU, seq = 128, bf16, adamw, pytorch-ddp, training

    layer           type    output      params     forward    backward     time  bound      saved    comm  exposed
    /fc             Linear  4×128×3072  2.36 M  2.42 GFLOP  4.83 GFLOP  60.0 µs  compute  768 KiB  120 µs  80.0 µs
    /odd, "quoted"  Odd     ?                            ?           ?        ?                 ?
    1 more has no cost (views, shape arithmetic)

    step time   ≥ 170 µs             forward ≥ 20.0 µs, backward ≥ 40.0 µs, update 30.0 µs, 80.0 µs of 120 µs communication exposed
    throughput  ≤ 188,235 samples/s  weak scaling efficiency 53 %, MFU 14 %
    memory      ≥ 576 MiB            of 40.0 GiB, driver and framework 512 MiB, tensors ≥ 64.0 MiB at the peak in update: parameters 9.01 MiB, gradients 9.01 MiB, optimizer 18.0 MiB, activations ≥ 0 B, workspace 3.00 MiB, communication buffers 25.0 MiB
    FLOPs       ≥ 7.25 GFLOP         forward ≥ 2.42 GFLOP, backward ≥ 4.83 GFLOP per GPU

    Not counted, so totals are lower bounds (1):
      odd: operator \`com.example.Odd\` is not known

    warning findings/exposed-communication: 47 % of the step waits for gradients
      Raise the batch per GPU to 12
    "
  `);
});

it('renders Markdown', () => {
  expect(renderMarkdown(report)).toMatchInlineSnapshot(`
    "# tiny

    2,362,368 parameters, all taken as trained. dgx-a100: 1 node, 8 × A100 SXM 40 GB, batch 4 per GPU, seq = 128, bf16, adamw, pytorch-ddp, training.

    | | | |
    |---|--:|---|
    | step time | ≥ 170 µs | forward ≥ 20.0 µs, backward ≥ 40.0 µs, update 30.0 µs, 80.0 µs of 120 µs communication exposed |
    | throughput | ≤ 188,235 samples/s | weak scaling efficiency 53 %, MFU 14 % |
    | memory | ≥ 576 MiB | of 40.0 GiB, driver and framework 512 MiB, tensors ≥ 64.0 MiB at the peak in update: parameters 9.01 MiB, gradients 9.01 MiB, optimizer 18.0 MiB, activations ≥ 0 B, workspace 3.00 MiB, communication buffers 25.0 MiB |
    | FLOPs | ≥ 7.25 GFLOP | forward ≥ 2.42 GFLOP, backward ≥ 4.83 GFLOP per GPU |

    ## Findings

    - **warning** \`findings/exposed-communication\`: 47 % of the step waits for gradients. Raise the batch per GPU to 12

    ## Layers

    | layer | type | output | parameters | forward | backward | time | saved | communication | exposed |
    |---|---|---|--:|--:|--:|--:|--:|--:|--:|
    | \`/fc\` | Linear | 4×128×3072 | 2,362,368 | 2.42 GFLOP | 4.83 GFLOP | 60.0 µs | 768 KiB | 120 µs | 80.0 µs |
    | \`/odd, "quoted"\` | Odd | ? |  | ? | ? | ? | ? |  |  |

    ## Not counted

    Totals are lower bounds, because these could not be costed.

    - \`odd\`: operator \`com.example.Odd\` is not known
    "
  `);
});

it('renders comma-separated values with one cell per column in every line', () => {
  const lines = renderCsv(report).trimEnd().split('\r\n');
  expect(lines).toHaveLength(4);
  const unquoted = lines.map((line) => line.replace(/"(?:[^"]|"")*"/g, 'quoted'));
  expect(new Set(unquoted.map((line) => line.split(',').length)).size).toBe(1);
  expect(lines[2]).toMatch(/^"\/odd, ""quoted""",Odd,,undefined,0,,,/);
});

it('renders a page that needs nothing else and lets no name become markup', () => {
  const page = renderHtml({
    ...report,
    layers: report.layers.map((layer) => ({ ...layer, name: `<script>${layer.name}` })),
  });
  expect(page).not.toMatch(/https?:|src=|<script>|<[^>]* on\w+=| style=/);
  expect(page.match(/<script/g)).toEqual(['<script']);
  expect(page).toContain(`<script nonce="layercost">${pageScript}</script>`);
  expect(page).toContain(
    "default-src 'none'; img-src data:; style-src 'nonce-layercost'; script-src 'nonce-layercost'",
  );
  expect(page).toContain('&#60;script&#62;/odd, &#34;quoted&#34;');
  expect(page).toContain('<td class="number">60.0 µs');
});

it('the script of the page is small, parses, and writes text only', () => {
  expect(pageScript.length).toBeLessThan(30_000);
  expect(() => new Function(pageScript)).not.toThrow();
  expect(pageScript).not.toMatch(/innerHTML|document\.write|eval\(|fetch\(|XMLHttpRequest|<\/script/);
});
