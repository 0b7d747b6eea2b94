import { expect, test } from 'vitest';
import { issuesOfFusedOperators } from '../../server/src/analysis/issuesOfFusedOperators.ts';
import type { OnnxNode } from '../../server/src/formats/onnx/syntax.ts';

const node = (name: string, rule?: string): OnnxNode => ({
  name,
  type: 'RMSNormalization',
  domain: '',
  overload: '',
  inputs: ['x', 'w'],
  outputs: ['y'],
  attributes: new Map(),
  metadata: new Map(rule === undefined ? [] : [['pkg.onnxscript.rewriter.rule_name', rule]]),
});

test('operators that the exporter fused are named, those that the model calls are not', () => {
  expect(issuesOfFusedOperators([node('a'), node('b', 'FuseBatchNormIntoConv')])).toEqual([]);
  const [issue, ...others] = issuesOfFusedOperators([
    node('a'),
    node('b', 'RmsNormFusion2'),
    node('c', 'RmsNormFusion2'),
  ]);
  expect(others).toEqual([]);
  expect(issue?.code).toBe('graph/fused-operators');
  expect(issue?.message).toContain('2 operators, first RMSNormalization `b`');
});
