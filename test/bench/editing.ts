/** How long a person waits after an edit of a large model, and after another choice of hardware. */

import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openLayerSpec, openModel, openOnnxText } from '../../server/src/analysis/openModel.ts';
import { scalingCurve } from '../../server/src/estimate/scaling/scalingCurve.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { costOf, wholeCostOf } from './costOf.ts';
import { llamaGraph } from './llamaGraph.ts';
import { repeat, show } from './measure.ts';

const request: ScenarioRequest = { batch: 4, dimensions: { sequence: 2048 }, precision: 'bf16' };

/** The engine inside this process, warm, as a language server has it. */
export function showEditing(): void {
  const source = byteSourceOfBuffer(llamaGraph(9_000));
  const opened = openModel(source, 'llama.onnx');
  const cost = (model: OpenedModel, ...more: readonly ScenarioRequest[]): unknown =>
    wholeCostOf(model, ...more, request);
  let gpus = 8;
  let runs = 0;
  /** Of batches that come back after five, when what was found of the first has been let go of. */
  const nextBatch = (): number => {
    runs += 1;
    return 4 + (runs % 5);
  };
  show(
    'cost 9,000 operators for another number of GPUs',
    repeat(15, () => {
      gpus = gpus === 8 ? 16 : 8;
      return cost(opened, { cluster: 'dgx-h100', gpus });
    }),
  );
  show(
    'cost 9,000 operators on 1,024 GPUs, with timeline',
    repeat(15, () => cost(opened, { cluster: 'dgx-h100', gpus: 1024, batch: nextBatch() })),
  );
  show(
    'scaling curve of 13 points, 1 to 4,096 GPUs',
    repeat(5, () => {
      const batch = nextBatch();
      return scalingCurve(
        Array.from({ length: 13 }, (_, power) =>
          costOf(opened, { cluster: 'dgx-h100', gpus: 2 ** power, batch }, request),
        ),
      );
    }),
  );
  show(
    'read 9,000 operators of a changed binary, and cost',
    repeat(9, () => cost(openModel(source, 'llama.onnx'))),
  );
  if (opened.onnx !== undefined) {
    const { text } = printOnnxText(opened.onnx);
    let edits = 0;
    show(
      'edit ONNX text of 9,000 operators, and cost',
      repeat(9, () => {
        edits += 1;
        const edited = text.replace('Softmax <axis = -1', `Softmax <axis = ${(edits % 3) + 1}`);
        return cost(openOnnxText(edited, 'llama.onnxtxt'));
      }),
    );
  }
  let width = 2048;
  show(
    'edit a layer spec of 9,000 operators, and cost',
    repeat(9, () => {
      width = width === 2048 ? 4096 : 2048;
      return cost(openLayerSpec(largeSpec(width), 'llama.layers.yaml'));
    }),
  );
}

/** A spec with attention written out, so that a block is 32 operators and the whole about 9,000. */
export const largeSpec = (width: number): string => `
name: llama
dims: { batch: 4, seq: 2048, d: ${width}, hidden: 5632, vocab: 32000 }
inputs: { tokens: 'int64[batch, seq]' }
blocks:
  decoder:
    - input_norm: RMSNorm(d)
    - attn: MultiheadAttention(d, 32, bias=False, causal=True, fused=False)
    - res_1: add(attn, input)
    - post_norm: RMSNorm(d)
    - gate: Linear(d, hidden, bias=False)
    - act: SiLU()
    - up: Linear(d, hidden, bias=False) from post_norm
    - gated: mul(act, up)
    - down: Linear(hidden, d, bias=False)
    - res_2: add(down, res_1)
layers:
  - embed: Embedding(vocab, d)
  - layers: decoder() * ${specBlocks}
  - norm: RMSNorm(d)
  - lm_head: Linear(d, vocab, bias=False)
`;

const specBlocks = 280;
