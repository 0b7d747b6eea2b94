import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';

test('tokens are looked for behind as many changes of type as a file has', () => {
  const count = 20_000;
  const casts = Array.from({ length: count }, (_, index) => `  t${index + 1} = Cast <to = 7> (t${index})`);
  const text = `<ir_version: 8, opset_import: ["" : 17]>
net (int64[2, 16] t0, float[100, 8] x) => (int64[2, 16] t${count}) {
${casts.join('\n')}
}
`;
  const { cost } = estimateModel(openOnnxText(text, 'casts.onnxtxt'), [{ gpus: 1 }]);
  expect(cost?.totals.tokensPerSample).toBeUndefined();
});
