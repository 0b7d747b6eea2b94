/** A message as an editor lists it: the first line alone, which is cut off where it is long. */

import { capitalized } from '../model/capitalized.ts';

/** A line for each sentence; behind a long first one, what to do has a line of its own. */
export function problemLines(message: string): string {
  const [first = '', ...others] = message.replace(/\. (?=[A-Z0-9`])/g, '\n').split('\n');
  const [title = '', ...rest] = first.length > longestTitle ? first.split('; ') : [first];
  return [title, ...(rest.length === 0 ? [] : [capitalized(rest.join('; '))]), ...others].join('\n');
}

/** About what a list of problems shows beside an explorer in a window of 1,280 pixels. */
const longestTitle = 80;
