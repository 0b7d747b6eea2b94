/** The whole engine on a few inputs of every kind; `npm run fuzz` takes more, and measures time and memory. */

import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { answerInput, checkAnswer } from './answerInput.ts';
import { corpusOf } from './corpus.ts';
import { shortInputs } from './hostileInputs.ts';
import { fuzzInput } from './inputs.ts';

/** Rows that fit into a short run; the others are left to `npm run fuzz`. */
const shortest = 4_000;

describe('hostile files are answered', () => {
  test.each(shortInputs)('$what', ({ make }) => {
    const input = make();
    if (input.bytes.length > shortest) return;
    checkAnswer(answerInput(input));
  });
});

test('changed and arbitrary files are answered', () => {
  const corpus = corpusOf(fileURLToPath(new URL('../../samples', import.meta.url)));
  const deadline = Date.now() + 3000;
  let answered = 0;
  for (; answered < 400 && Date.now() < deadline; answered += 1) {
    const input = fuzzInput(corpus, 20, answered);
    try {
      checkAnswer(answerInput(input));
    } catch (error) {
      throw new Error(`input ${answered} of seed 20, from ${input.name}`, { cause: error });
    }
  }
  expect(answered).toBeGreaterThan(0);
});
