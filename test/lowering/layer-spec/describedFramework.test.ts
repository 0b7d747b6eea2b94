import { expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { readFrameworkDescription } from '../../../server/src/formats/framework/readFrameworkDescription.ts';

const spec = (framework: string): string => `inputs:
  x: float32[8, 16]
layers:
  - fc1: Linear(16, 16)
  - fc2: Linear(16, 16)
scenario: { cluster: dgx-a100, gpus: 8, framework: "${framework}" }
`;

const files: Readonly<Record<string, string>> = {
  'mine.yaml': 'name: mine\ngradients: { messages: tensors }',
  'bad.yaml': 'name: mine\ngradients:\n  mesages: one',
};

function costOf(framework: string) {
  const opened = openLayerSpec(spec(framework), 'm.layers.yaml', {
    readInclude: (path) => files[path],
    readFramework: readFrameworkDescription,
  });
  return estimateModel(opened, [opened.scenario]);
}

test('a framework beside the layer spec is costed', () => {
  const { cost, opened } = costOf('./mine.yaml,launch-us=2');
  expect(cost?.messages).toHaveLength(4);
  expect(opened.scenario?.framework).toMatchObject({ name: 'mine', options: { 'launch-us': '2' } });
});

test.each([
  ['./bad.yaml', 'framework/structure', /^bad\.yaml: line 3, column 3: `gradients\.mesages`/],
  ['./no.yaml', 'framework/file', /^There is no file `no\.yaml`/],
  ['../mine.yaml', 'framework/file', /leaves the folder of the model/],
  ['mine.json', 'framework/file', /takes descriptions in YAML/],
  ['./mine.yaml,bucket-mb=2', 'scenario/invalid', /`mine` has no option `bucket-mb`/],
])('%s is not costed, and the place in the spec is told', (framework, code, message) => {
  const { cost, issues } = costOf(framework);
  expect(cost).toBeUndefined();
  const [issue] = issues.filter(({ severity }) => severity === 'error');
  expect(issue?.code).toBe(code);
  expect(issue?.message).toMatch(message);
  const text = spec(framework);
  // A wrong option is underlined by itself.
  const wrong = code === 'scenario/invalid' ? framework.split(',')[1] : framework;
  const underlined = text.slice(issue?.span?.start, issue?.span?.end);
  expect(underlined.replace(/^"|"$/g, '')).toBe(wrong);
});
