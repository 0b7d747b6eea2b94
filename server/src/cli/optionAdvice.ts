/** The options that give what a message says is unset; the message itself is the same in every surface. */

import type { BenchmarkFailure } from '../benchmark/benchmarkFailure.ts';
import type { Issue } from '../model/issue.ts';

/** The issue as the command line says it: `…; set it with --dim seq=VALUE`. */
export function withOptions(issue: Issue): Issue {
  const { unset = [], scenarioKey } = issue;
  if (scenarioKey === 'cluster' && issue.code === 'scenario/unknown-cluster')
    return { ...issue, message: `${issue.message} (\`layercost clusters\` lists them)` };
  if (unset.length === 0) return issue;
  const options =
    scenarioKey === 'batch' ? ['--batch N'] : unset.map((name) => `--dim ${quoted(name)}=VALUE`);
  return {
    ...issue,
    message: `${issue.message}; set ${unset.length === 1 ? 'it' : 'them'} with ${options.join(' ')}`,
  };
}

/** A shell takes the rest of a name apart. */
const quoted = (name: string): string => (/^[\w.:/-]+$/.test(name) ? name : `'${name}'`);

/** The message of a benchmark that failed, with the option that helps. */
export function withBenchmarkOptions({ kind, message }: BenchmarkFailure): string {
  if (kind === 'no-gpu') return `${message} (--device cpu)`;
  const isPython = kind === 'no-interpreter' || kind === 'torch-missing';
  return isPython ? `${message}. Choose one with --python PATH` : message;
}
