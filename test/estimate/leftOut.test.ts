/** What is left out of a model makes every total a lower bound, wherever it is shown. */

import { describe, expect, it, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { renderHtml } from '../../server/src/estimate/report/renderHtml.ts';
import { renderMarkdown } from '../../server/src/estimate/report/renderMarkdown.ts';
import { renderTable } from '../../server/src/estimate/report/renderTable.ts';
import { renderScalingTable } from '../../server/src/estimate/scaling/renderScaling.ts';
import { scaleInSteps } from '../../server/src/estimate/scaling/scaleJob.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { codeLenses } from '../../server/src/language/codeLenses.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import { finish } from '../../server/src/model/steps.ts';
import { encodeModel, type NodeDescription, varintField } from '../support/onnxBytes.ts';

const opened = (contents: string | Uint8Array, name: string) =>
  openModel(
    byteSourceOfBuffer(typeof contents === 'string' ? new TextEncoder().encode(contents) : contents),
    name,
  );

const estimateOn = (contents: string | Uint8Array, name: string, gpus = 8): ModelEstimate =>
  estimateModel(opened(contents, name), [{ cluster: 'dgx-a100', gpus, nodes: 1 }]);

const spec = (layers: string, more = ''): string =>
  `${more}inputs: { x: "float32[batch, 64]" }\nlayers:\n  - first: Linear(64)\n${layers}`;

const relus = (count: number, type = 'Relu'): readonly NodeDescription[] =>
  Array.from({ length: count }, (_, index) => ({
    type,
    inputs: [index === 0 ? 'x' : `v${index}`],
    outputs: [`v${index + 1}`],
  }));

const graphOf = (nodes: readonly NodeDescription[], output: string) => ({
  inputs: { x: 'float[2,64]', c: 'bool' },
  outputs: { [output]: 'float[2,64]' },
  nodes,
});

const branch = (name: string) => ({
  graph: {
    outputs: { [name]: 'float[2,64]' },
    nodes: [{ type: 'Exp', inputs: ['x'], outputs: [name] }],
  },
});

/** Bodies nested one in another, as functions that each call the next one twice. */
const doubling = Array.from({ length: 20 }, (_, depth) => ({
  name: `f${depth}`,
  domain: 'own',
  inputs: ['a'],
  outputs: ['b'],
  nodes: [
    {
      type: depth === 19 ? 'Relu' : `f${depth + 1}`,
      domain: depth === 19 ? '' : 'own',
      inputs: ['a'],
      outputs: ['m'],
    },
    {
      type: depth === 19 ? 'Relu' : `f${depth + 1}`,
      domain: depth === 19 ? '' : 'own',
      inputs: ['m'],
      outputs: ['b'],
    },
  ],
}));

const prototxt = (more: string): string => `input: "data"
input_shape { dim: 1 dim: 3 dim: 8 dim: 8 }
layer { name: "a" type: "Convolution" bottom: "data" top: "a" convolution_param { num_output: 8 kernel_size: 3 } }
layer { name: "b" type: "Convolution" bottom: "a" top: "b" convolution_param { num_output: 8 kernel_size: 3 ${more}`;

/** By what is left out: a file, its name, and what the message says. */
const cases: Readonly<Record<string, readonly [contents: string | Uint8Array, name: string, says: RegExp]>> =
  {
    'layers beyond the limit of a spec': [
      spec('  - fc: Linear(64) * 1099511627776\n'),
      'm.layers.yaml',
      /more than 10000 layers/,
    ],
    'tensors beyond the limit of a spec': [
      spec('  - t: TransformerEncoderLayer(64, 4, batch_first=True) * 9000\n').replace(
        '[batch, 64]',
        '[batch, 8, 64]',
      ),
      'm.layers.yaml',
      /more than (40000 tensors|10000 layers)/,
    ],
    'a line of a spec that cannot be read': [
      spec('  - : Linear(64)\n  - last: ReLU()\n'),
      'm.layers.yaml',
      /./,
    ],
    'a key of a spec that stands twice': [
      `${spec('  - last: ReLU()\n')}layers:\n  - only: ReLU()\n`,
      'm.layers.yaml',
      /already used/,
    ],
    'an argument of a spec that no layer has': [
      spec('  - fc: Linear(64, wide=4096)\n'),
      'm.layers.yaml',
      /wide/,
    ],
    'a layer of a spec whose sizes contradict its input': [
      spec('  - fc: Linear(65, 64)\n'),
      'm.layers.yaml',
      /65/,
    ],
    'a file that a spec cannot include': [
      spec('  - last: ReLU()\n', 'include: [missing.layers.yaml]\n'),
      'm.layers.yaml',
      /missing/,
    ],
    'a value of a Caffe net that is given twice': [
      prototxt('num_output: 4096 } }'),
      'm.prototxt',
      /num_output/,
    ],
    'operators beyond the limit of a crowded file': [
      `<ir_version: 8, opset_import: ["": 17]>\ng (float[2,64] x) => (float[2,64] v1) {\n${Array.from(
        { length: 50_100 },
        (_, index) => `v${index + 1}=Relu(x)`,
      ).join('\n')}\n}`,
      'm.onnxtxt',
      /left out/,
    ],
    'operators without outputs': [
      encodeModel({
        graph: graphOf(
          [...relus(2), ...Array.from({ length: 1001 }, () => ({ type: 'Relu', inputs: ['x'] }))],
          'v2',
        ),
      }),
      'm.onnx',
      /left out/,
    ],
    'operators that define a value again': [
      encodeModel({
        graph: graphOf(
          [
            ...relus(2),
            ...Array.from({ length: 1001 }, () => ({ type: 'Relu', inputs: ['x'], outputs: ['v1'] })),
          ],
          'v2',
        ),
      }),
      'm.onnx',
      /left out/,
    ],
    'a function beyond the limit of expansion': [
      encodeModel({
        operatorSets: { '': 17, own: 1 },
        graph: graphOf([...relus(2), { type: 'f0', domain: 'own', inputs: ['v2'], outputs: ['y'] }], 'y'),
        functions: doubling,
      }),
      'm.onnx',
      /cannot be expanded/,
    ],
    'a function with the name of an operator that calls itself': [
      encodeModel({
        operatorSets: { '': 17 },
        graph: graphOf([...relus(2), { type: 'Exp', inputs: ['v2'], outputs: ['y'] }], 'y'),
        functions: [
          {
            name: 'Exp',
            domain: '',
            inputs: ['a'],
            outputs: ['b'],
            nodes: [{ type: 'Exp', inputs: ['a'], outputs: ['b'] }],
          },
        ],
      }),
      'm.onnx',
      /calls itself/,
    ],
    'subgraphs beyond the limit of one model': [
      encodeModel({
        graph: graphOf(
          [
            ...relus(2),
            ...Array.from({ length: 5_002 }, (_, index) => ({
              type: 'If',
              inputs: ['c'],
              outputs: [`i${index}`],
              attributes: { then_branch: branch(`t${index}`), else_branch: branch(`e${index}`) },
            })),
          ],
          'i5001',
        ),
      }),
      'm.onnx',
      /./,
    ],
    'iterations of a Loop that a condition ends': [
      encodeModel({
        graph: {
          ...graphOf(
            [
              ...relus(2),
              {
                type: 'Loop',
                inputs: ['most', 'c', 'v2'],
                outputs: ['y'],
                attributes: {
                  body: {
                    graph: {
                      inputs: { i: 'int64', before: 'bool', a: 'float[2,64]' },
                      outputs: { after: 'bool', b: 'float[2,64]' },
                      nodes: [
                        { type: 'Identity', inputs: ['before'], outputs: ['after'] },
                        { type: 'Exp', inputs: ['a'], outputs: ['b'] },
                      ],
                    },
                  },
                },
              },
            ],
            'y',
          ),
          initializers: [{ name: 'most', type: 'int64', elements: [2n ** 63n - 1n] }],
        },
      }),
      'm.onnx',
      /how often the Loop runs/,
    ],
    'a field that is encoded as another type': [
      encodeModel({
        graph: graphOf(
          [...relus(2), { type: 'Relu', inputs: ['v2'], outputs: ['y'], extra: varintField(1, 5) }],
          'y',
        ),
      }),
      'm.onnx',
      /not encoded as ONNX requires/,
    ],
    'dimensions of a tensor beyond the limit': [
      encodeModel({
        graph: {
          ...graphOf([...relus(2), { type: 'Add', inputs: ['v2', 'w'], outputs: ['y'] }], 'y'),
          initializers: [{ name: 'w', type: `float[${Array.from({ length: 1100 }, () => 1).join(',')}]` }],
        },
      }),
      'm.onnx',
      /1100 dimensions/,
    ],
    'an attribute of another type': [
      encodeModel({
        graph: graphOf(
          [...relus(2), { type: 'Transpose', inputs: ['v2'], outputs: ['y'], attributes: { perm: 'x' } }],
          'y',
        ),
      }),
      'm.onnx',
      /perm/,
    ],
  };

describe.each(Object.entries(cases))('%s', (_, [contents, name, says]) => {
  const estimate = estimateOn(contents, name);
  const { cost, training } = estimate;
  if (cost === undefined || training === undefined) throw new Error(JSON.stringify(estimate.issues));
  const report = makeReport(estimate.opened, training.analysis, cost, estimate.issues);

  it('is named, and makes every total a bound', () => {
    expect(cost.totals.unknown.some(({ reason }) => says.test(reason))).toBe(true);
    expect(report.totals).toMatchObject({
      exact: false,
      time: { exact: false, exposedCommunication: null },
      scalingEfficiency: null,
      mfu: null,
    });
    expect(cost.fits).not.toBe('yes');
  });

  it('marks the numbers of reports', () => {
    for (const render of [renderTable, renderMarkdown, renderHtml]) {
      const text = render(report)
        .replaceAll('**', '')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ');
      expect(text).toMatch(/step time\W+≥\s/);
      // With a part left out, no step is sure to fit, and a small lower bound is no sign that it does not.
      expect(text).toMatch(/memory\W+fit unknown: ≥\s/);
      expect(text).toMatch(/FLOPs\W+≥\s/);
    }
  });

  it('leaves a scaling curve without exact points', () => {
    const scaling = finish(scaleInSteps(name, [8], (gpus) => estimateOn(contents, name, gpus)));
    for (const point of scaling.points) {
      expect(point).toMatchObject({
        exact: false,
        memoryExact: false,
        stepRange: null,
        scalingEfficiency: null,
      });
    }
    expect(renderScalingTable(scaling).match(/≥/g)?.length).toBeGreaterThanOrEqual(2);
  });
});

test('an editor marks the line that is cut, and the lens of its model', () => {
  const text = spec('  - fc: Linear(64) * 1099511627776\n  - act: ReLU()\n');
  const view = viewLayerSpec(text, estimateOn(text, 'm.layers.yaml', 1));
  const titles = codeLenses(view).map(({ title }) => title);
  expect(titles[0]).toMatch(/^step ≥ .* · .*: ≥ .* of .*/);
  expect(titles.at(-1)).toMatch(/≥ .* parameters/);
  const hints = inlayHints(view, 0, 10).map(({ text: hint }) => hint);
  expect(hints.map((hint) => hint.includes('≥'))).toEqual([false, true]);
});

test('a file of two models marks only the one with the error', () => {
  const text = `inputs: { x: "float32[batch, 64]" }
models:
  good:
    layers:
      - a: Linear(64)
  bad:
    layers:
      - a: Linear(64, wide=3)
`;
  const exact = (model: string): boolean | undefined =>
    estimateModel(
      openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'm.layers.yaml', { model }),
      [],
    ).cost?.totals.exact;
  expect([exact('good'), exact('bad')]).toEqual([true, false]);
});
