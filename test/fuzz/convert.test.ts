/** Changed files converted in every direction: a file or a reason comes out, and the file is read again. */

import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { targetFormats, weightForms } from '../../server/src/analysis/conversionRequest.ts';
import { convertModel } from '../../server/src/analysis/convertModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { corpusOf } from './corpus.ts';
import { fuzzInput } from './inputs.ts';

const corpus = corpusOf(fileURLToPath(new URL('../../samples', import.meta.url)));

const endings = { onnx: 'onnx', 'onnx-text': 'onnxtxt', 'layer-spec': 'layers.yaml' } as const;

test('what is converted is read again, and what is not says why', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 }),
      fc.option(fc.constantFrom(...targetFormats), { nil: undefined }),
      // Binary files have zeros by default; written as text, those of a changed dimension are megabytes.
      fc.option(fc.constantFrom(...weightForms.filter((form) => form !== 'zeros')), { nil: undefined }),
      fc.constantFrom({}, { N: 3 }, { batch: 2 ** 53 }),
      (seed, to, weights, dimensions) => {
        const { name, bytes } = fuzzInput(corpus, seed, 0);
        const request = { to, weights, externalPath: 'weights.bin', dimensions };
        const conversion = convertModel(byteSourceOfBuffer(bytes), name, request);
        if (conversion.kind === 'refused') {
          expect(conversion.message).toMatch(/[^.\s]$/);
        } else if (conversion.kind === 'failed') {
          expect(conversion.issues).not.toEqual([]);
        } else {
          const { content } = conversion;
          const written = content.to === 'onnx' ? content.bytes : new TextEncoder().encode(content.text);
          const file = `again.${endings[content.to]}`;
          expect(openModel(byteSourceOfBuffer(written), file).onnx).toBeDefined();
        }
      },
    ),
    { numRuns: 60 },
  );
});
