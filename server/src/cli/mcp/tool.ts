/** What an agent can ask for: a name, what it takes, and a text for an answer. It reads files and changes none. */

import type { z } from 'zod';
import { WrongArgument } from '../optionValues.ts';

export interface Tool {
  readonly name: string;
  readonly title: string;
  /** When to use it and what it answers. */
  readonly description: string;
  readonly input: z.ZodObject;
  readonly answer: (given: unknown) => Promise<Answer>;
}

export interface Answer {
  readonly text: string;
  /** Set where the question cannot be answered; the text says why and what to do. */
  readonly isWrong?: true;
}

/** A tool whose `run` gets what its schema reads, and whose wrong arguments become answers. */
export const toolOf = <Input extends z.ZodObject>({
  run,
  ...tool
}: Omit<Tool, 'answer' | 'input'> & {
  readonly input: Input;
  readonly run: (given: z.infer<Input>) => Promise<Answer>;
}): Tool => ({
  ...tool,
  answer: async (given) => {
    try {
      return await run(tool.input.parse(given));
    } catch (error) {
      if (error instanceof WrongArgument) return wrong(error.message);
      throw error;
    }
  },
});

export const wrong = (text: string): Answer => ({ text, isWrong: true });
