import { expect, test } from 'vitest';
import { findOperator, knownOperators } from '../../server/src/operators/registry.ts';

test('the default domain has two names', () => {
  expect(findOperator('', 'Conv', 17)).toBeDefined();
  expect(findOperator('ai.onnx', 'Conv', 17)).toBe(findOperator('', 'Conv', 17));
});

test('other domains and unknown types have no definition', () => {
  expect(findOperator('com.example', 'Conv', 17)).toBeUndefined();
  expect(findOperator('', 'Convolution', 17)).toBeUndefined();
});

test('every operator that ONNX 1.23 defines and has not withdrawn is known', () => {
  const types = new Set(
    knownOperators()
      .filter((definition) => definition.domain === '')
      .map((d) => d.type),
  );
  expect(types.size).toBeGreaterThanOrEqual(203);
});

test('definitions are unique and documented with their source', () => {
  const names = new Set<string>();
  for (const { domain, type, since, documentation } of knownOperators()) {
    const name = `${domain}:${type}:${since}`;
    expect(names.has(name), name).toBe(false);
    names.add(name);
    expect(documentation, name).toMatch(new RegExp(`\\(.*${type}-\\d+\\)$`));
    expect(documentation.length, name).toBeLessThan(120);
  }
});
