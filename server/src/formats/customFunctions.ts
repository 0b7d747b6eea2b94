/**
 * Functions with a backward of their own (`torch.autograd.Function`), by stack traces: exporters write the operators of their forward alone,
 * and the trace of each goes through the line that calls `apply` (torch/fx/proxy.py of PyTorch 2.13).
 */

import { parseStackTrace } from './stackTrace.ts';

/** By the name that a function is called by: the last line that calls it, as `line 12 of \`net.py\``. */
export function customFunctions(stackTraces: Iterable<string>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const stackTrace of stackTraces) {
    if (!stackTrace.includes('.apply(')) continue;
    const frames = parseStackTrace(stackTrace);
    for (const [index, { text, path, line }] of frames.entries()) {
      const name = /\b([A-Za-z_][\w.]*)\.apply\(/.exec(text)?.[1];
      const called = frames[index + 1]?.text ?? '';
      if (name === undefined || name.startsWith('self') || !isForwardOfFunction(called)) continue;
      found.set(name, `line ${line} of \`${path.slice(path.lastIndexOf('/') + 1)}\``);
    }
  }
  return found;
}

/** Its frame is the line of a function that is no method of a module: the source of `forward` begins with the context. */
const isForwardOfFunction = (text: string): boolean => text !== '' && !/\bself\b/.test(text);
