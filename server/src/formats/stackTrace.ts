/** A stack trace as Python's `traceback` writes it, and as `torch.export` records it of every call: outermost frame first. */

export interface PythonFrame {
  /** Where the file was on the machine that exported. */
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly function: string;
  /** The line itself, without indentation; '' where Python could not read it. */
  readonly text: string;
}

/** `  File "model.py", line 7, in forward`, and the line below it. What is in no such form is left out. */
export function parseStackTrace(trace: string): readonly PythonFrame[] {
  const lines = trace.split('\n');
  return lines.flatMap((line, index): readonly PythonFrame[] => {
    const [, path, number, name] = frameLine.exec(line) ?? [];
    if (path === undefined || number === undefined || name === undefined) return [];
    const below = lines[index + 1] ?? '';
    const text = frameLine.test(below) ? '' : below.trim();
    return [{ path, line: Number(number), function: name, text }];
  });
}

const frameLine = /^\s*File "([^"]+)", line (\d{1,9}), in (\S.*)$/;

/** Whether a line calls `torch.utils.checkpoint`, as programs and libraries do. */
export const callsCheckpoint = ({ path, text }: PythonFrame): boolean =>
  calls.test(text) || libraries.test(path);

/** Whether one line chooses between such a call and another (`checkpoint(f, x) if self.saves else f(x)`), so that its trace says neither. */
export const choosesCheckpoint = ({ text }: PythonFrame): boolean =>
  calls.test(text) && /\bif\b.*\belse\b/.test(text);

/** The sign in front of such a call, or behind it on the line: `+` of `x + checkpoint(f, x)` and of `x += checkpoint(f, x)`. */
export function besideCheckpoint({ text }: PythonFrame): string | undefined {
  const call = calls.exec(text);
  if (call === null) return undefined;
  const before = /([-+*/])=?\s*[\w.]*$/.exec(text.slice(0, call.index))?.[1];
  if (before !== undefined) return before;
  let depth = 0;
  for (let index = call.index; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1;
    if (text[index] === ')') depth -= 1;
    if (text[index] === ')' && depth === 0) return /^\s*([-+*/])/.exec(text.slice(index + 1))?.[1];
  }
  return undefined;
}

const calls =
  /(?<!\w)(?:checkpoint|checkpoint_sequential|checkpoint_seq|_?gradient_checkpointing_func|checkpoint_fn)\s*\(/;
const libraries = /torch\/utils\/checkpoint\.py$|checkpoint_wrapper\.py$|checkpoint_activations\.py$/;
