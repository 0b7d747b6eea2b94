/** Models with operators that a file beside them describes: shapes, work and what backward keeps. */

import { describe, expect, test } from 'vitest';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { readCustomOperatorsBeside } from '../../server/src/formats/custom-operators/readCustomOperators.ts';

const text = `<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[N, 16, 8] x, float[N, 4, 8] k) => (float[N, 16, 4] y)
<float[8, 8] w = {${Array.from({ length: 64 }, () => '1').join(', ')}}> {
  a = MatMul (x, w)
  s, t = com.example.Scores <heads: int = 2> (a, k)
  y = com.example.Twin (s)
}`;

function open(described: string, model = text) {
  const opened = openOnnxText(model, 'model.onnxtxt', { operators: readCustomOperatorsBeside(described) });
  const { analysis } = opened;
  if (analysis === undefined) throw new Error('nothing was read');
  const training = bindTrainingGraph(analysis, new Map([['N', 3]]), 'training');
  return { issues: opened.issues.map(({ message }) => message), ...training };
}

const scores = `operators:
  com.example.Twin: { like: Gelu }
  com.example.Scores:
    inputs: { a: [B, S, D], k: [B, T, D] }
    attributes: { heads: 1, scale: 1 }
    outputs: { s: [B, S, T], t: { type: int64, shape: [heads, S // 2 + 1] } }
    flops: 2*B*S*T*D*heads
    saved: [a, s]
`;

describe('described operators', () => {
  test('have the shapes and the work that their expressions give', () => {
    const { issues, tensors, costs } = open(scores);
    expect(issues).toEqual([]);
    expect(tensors.get('s')?.dimensions).toEqual([3, 16, 4]);
    expect(tensors.get('t')).toMatchObject({ elementType: 'int64', dimensions: [2, 9] });
    expect(tensors.get('y')?.dimensions).toEqual([3, 16, 4]);
    const [, cost] = costs;
    if (cost?.kind !== 'known') throw new Error(cost?.reason);
    const flops = 2 * 3 * 16 * 4 * 8 * 2;
    expect([cost.forward.flops, cost.backwardData.flops]).toEqual([flops, 2 * flops]);
    expect(cost.forward.traffic).toEqual({
      float32Elements: 3 * 16 * 8 + 3 * 4 * 8 + 3 * 16 * 4,
      fixedBytes: 18 * 8,
    });
    expect(cost.saved).toEqual([
      { kind: 'input', index: 0 },
      { kind: 'output', index: 0 },
    ]);
  });

  test('have the bytes and the backward that are given', () => {
    const { costs } = open(
      scores.replace(
        'saved:',
        'bytes: 4*B*S\n    kernels: 2\n    backward: { flops: B, bytes: 5 }\n    saved:',
      ),
    );
    expect(costs[1]).toMatchObject({
      forward: { kernels: 2, traffic: { float32Elements: 0, fixedBytes: 4 * 3 * 16 } },
      backwardData: { flops: 3, traffic: { fixedBytes: 5 } },
    });
  });

  test('may stand in subgraphs', () => {
    const inner = `<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (bool c, float[2, 3] x) => (float[2, 3] y)
{
  y = If (c) <then_branch = a () => (float[2, 3] p) { p = com.example.Twin (x) }, else_branch = b () => (float[2, 3] q) { q = Identity (x) }>
}`;
    expect(open(scores, inner).issues).toEqual([]);
  });

  test('a node that contradicts its description is said', () => {
    const { issues } = open(scores.replace('[B, S, D], k', '[B, S], k'));
    expect(issues[0]).toContain('input 1 is described as [B, S], but is [N, 16, 8]');
    const unequal = open(scores.replace('k: [B, T, D]', 'k: [B, D, T]')).issues;
    expect(unequal[0]).toContain('`D` of input 2 is [4], but [8] elsewhere');
  });

  test('one of unknown size keeps its reason', () => {
    const { costs } = open(scores.replace('S // 2 + 1', 'S // (heads - heads)'));
    expect(costs[1]?.kind).toBe('unknown');
  });

  test('keep their description where another batch is asked for', () => {
    const fixed = text.replaceAll('float[N, ', 'float[2, ');
    const opened = openOnnxText(fixed, 'model.onnxtxt', { operators: readCustomOperatorsBeside(scores) });
    const messages = estimateModel(opened, [{ batch: 8 }]).issues.map(({ message }) => message);
    expect(messages.filter((message) => message.includes('not known'))).toEqual([]);
    expect(messages.join('\n')).toContain('its description does not say which dimensions belong together');
  });

  test('without a description the message says where it belongs', () => {
    const { issues } = open('operators: {}');
    expect(issues[0]).toContain('describe it in `custom-operators.layercost.yaml` beside the model');
  });

  test('a mistake of the file is said with its line', () => {
    const { issues } = open('operators:\n  com.example.Twin: { like: Gelu, flops: 2 }\n');
    expect(issues[0]).toBe(
      'custom-operators.layercost.yaml: line 2, column 42: `com.example.Twin`: `like` takes all rules of the other operator: remove it, or everything else',
    );
  });
});
