/**
 * A revision of a git repository as a folder: a work tree of its own in the temporary folder, so that what a model
 * includes is of that revision too.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

export interface Revision {
  /** What `folder` of the repository is in it. */
  readonly folder: string;
  readonly close: () => void;
}

/** `failed`: one sentence, what git says. */
export type OpenedRevision =
  | { readonly kind: 'revision'; readonly revision: Revision }
  | { readonly kind: 'failed'; readonly message: string };

export function openRevision(folder: string, reference: string): OpenedRevision {
  const top = git(folder, ['rev-parse', '--show-toplevel']);
  if (top.failed !== undefined)
    return failure(
      /not a git repository/.test(top.failed)
        ? `${folder} is in no git repository`
        : `git cannot tell the repository of ${folder}: ${top.failed}`,
    );
  const commit = git(folder, ['rev-parse', '--verify', '--quiet', `${reference}^{commit}`]);
  if (commit.failed !== undefined) {
    return failure(
      `the repository has no revision ${reference}; fetch it first (a shallow clone has only the newest commit)`,
    );
  }
  const place = mkdtempSync(join(tmpdir(), 'layercost-base-'));
  const tree = join(place, 'tree');
  const close = (): void => {
    git(folder, ['worktree', 'remove', '--force', tree]);
    rmSync(place, { recursive: true, force: true });
  };
  const added = git(folder, ['worktree', 'add', '--detach', '--quiet', tree, commit.text]);
  if (added.failed !== undefined) {
    close();
    return failure(`git cannot check out ${reference}: ${added.failed}`);
  }
  return {
    kind: 'revision',
    revision: { folder: join(tree, relative(realpathSync(top.text), realpathSync(folder))), close },
  };
}

/** Path of a file from the root of its repository, with `/`; `undefined` outside one. */
export function pathInRepository(folder: string, name: string): string | undefined {
  const prefix = git(folder, ['rev-parse', '--show-prefix']);
  return prefix.failed === undefined ? `${prefix.text}${name}` : undefined;
}

const failure = (message: string): OpenedRevision => ({ kind: 'failed', message });

function git(
  folder: string,
  words: readonly string[],
):
  | { readonly text: string; readonly failed?: undefined }
  | { readonly text: string; readonly failed: string } {
  const { status, stdout, stderr, error } = spawnSync('git', ['-C', folder, ...words], {
    encoding: 'utf8',
    timeout: patience,
  });
  if (error !== undefined) return { text: '', failed: `git cannot be run (${error.message})` };
  const text = (stdout ?? '').trim();
  return status === 0
    ? { text }
    : { text, failed: (stderr ?? '').trim().split('\n')[0] || `status ${status}` };
}

/** Milliseconds: a large repository takes long to check out. */
const patience = 300_000;
