/**
 * Reads an archive of `torch.export` (`*.pt2`): its program, never its weights.
 *
 * Two layouts: the PT2 archive specification, since PyTorch 2.8 (`NAME/models/*.json`), and the one before
 * (`serialized_exported_program.json`). Sources: `torch/export/pt2_archive/constants.py` and `torch/export/__init__.py`
 * of PyTorch 2.13. Never throws: what is wrong is in `issues`.
 */

import type { Issue } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import type { ByteSource } from '../byteSource.ts';
import { isObject, parseJson } from '../parseJson.ts';
import { readProgram } from './readProgram.ts';
import { readSymbolNames, withNames } from './symbolNames.ts';
import type { ExportedProgram } from './syntax.ts';
import { readStoredEntry, readZipDirectory, type ZipEntry } from './zipDirectory.ts';

export interface ReadPt2 {
  readonly program: ExportedProgram | undefined;
  readonly issues: readonly Issue[];
}

/** Major versions of the schema break compatibility; PyTorch 2.4 to 2.13 write this one. */
const knownMajor = 8;

/** The program of an eight-billion-parameter model takes 4 MB. */
const longestProgram = 2 ** 26;

export function readPt2(source: ByteSource): ReadPt2 {
  const directory = readZipDirectory(source);
  if ('problem' in directory) return failed('pt2/archive', `The archive ${directory.problem}`);
  const programs = directory.value.filter(isProgram);
  const [first, ...others] = programs;
  if (first === undefined) return failed('pt2/no-program', withoutProgram(directory.value));
  const bytes = readStoredEntry(source, first, longestProgram);
  if ('problem' in bytes) return failed('pt2/archive', `The archive ${bytes.problem}`);
  const names = readSymbolNames(source, directory.value);
  const parsed = parseJson(withNames(new TextDecoder().decode(bytes.value), names));
  if ('problem' in parsed || !isObject(parsed.value)) {
    return failed('pt2/archive', 'The program in the archive is not JSON: copy or export the model again');
  }
  const version = isObject(parsed.value.schema_version) ? parsed.value.schema_version.major : undefined;
  if (version !== knownMajor) {
    return failed(
      'pt2/version',
      `The program has schema version ${typeof version === 'number' ? version : 'unknown'}, and only ${knownMajor} is read: export the model with PyTorch 2.4 to 2.13`,
    );
  }
  const program = readProgram(parsed.value);
  if (program === undefined) {
    return failed('pt2/archive', 'The program in the archive has no graph: export the model again');
  }
  const chosen: Issue = {
    code: 'pt2/several',
    severity: 'information',
    message: `The archive holds ${programs.length} programs, and this is the first; save each to a file of its own to see the others`,
  };
  return { program, issues: others.length === 0 ? [] : [chosen] };
}

/** Whether an archive is one that `readPt2` has something to say about. */
export function isPt2(source: ByteSource, name: string): boolean {
  const directory = readZipDirectory(source);
  if ('problem' in directory) return name.toLowerCase().endsWith('.pt2');
  return directory.value.some((entry) => isProgram(entry) || isCompiled(entry));
}

const isProgram = ({ path }: ZipEntry): boolean =>
  path === 'serialized_exported_program.json' || /^[^/]+\/models\/[^/]+\.json$/.test(path);

/** AOTInductor's packages hold a library of machine code, since 2.6 in this folder. */
const isCompiled = ({ path }: ZipEntry): boolean => /(^|\/)data\/aotinductor\//.test(path);

const withoutProgram = (entries: readonly ZipEntry[]): string =>
  entries.some(isCompiled)
    ? 'The archive is a package of AOTInductor, machine code without a graph: save the program with `torch.export.save` before compiling it'
    : 'The archive holds no exported program: save one with `torch.export.save`';

const failed = (code: IssueCode, message: string): ReadPt2 => ({
  program: undefined,
  issues: [{ code, severity: 'error', message }],
});
