/**
 * Users' cluster profiles and framework descriptions: `layercost.cluster` and `layercost.framework` may be the path
 * of a file, relative to the workspace folder. A file is read once, and again when it changes.
 */

import { decodeText } from '../formats/byteSource.ts';
import { readFrameworkDescription } from '../formats/framework/readFrameworkDescription.ts';
import { locateIssues } from '../formats/locateIssues.ts';
import { longestProfile } from '../formats/longestProfile.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { readClusterProfile } from '../hardware/readClusterProfile.ts';
import type { FrameworkDescription } from '../model/frameworkDescription.ts';
import type { Issue } from '../model/issue.ts';
import { isFrameworkPath } from '../model/scenario.ts';
import type { ReadFile } from './readFile.ts';
import { fileName } from './virtualText.ts';

export interface UserFile<Value> {
  /** Absent where the file is none of its kind; `issues` then says why. */
  readonly value: Value | undefined;
  readonly issues: readonly Issue[];
}

export type UserCluster = UserFile<ClusterProfile>;
export type UserFramework = UserFile<FrameworkDescription>;

export interface UserFiles<Value> {
  /** What the file says that a setting names; `undefined` where it names no file. */
  of(setting: string, model: string): Promise<UserFile<Value> | undefined>;
  /** The file changed. Gives whether it was read. */
  forget(uri: string): boolean;
}

export interface UserProfileSources {
  readonly read: ReadFile;
  /** Address of a path of the settings, as seen from a model. */
  readonly resolve: (path: string, model: string) => Promise<string | undefined>;
  /** Called once for every file, to be told of its changes. */
  readonly watch: (uri: string) => void;
}

export const clusterFiles = (sources: UserProfileSources): UserFiles<ClusterProfile> =>
  userProfiles(sources, {
    setting: 'layercost.cluster',
    isPath: isProfilePath,
    unknown: 'scenario/unknown-cluster',
    read: (text) => {
      const { cluster, issues } = readClusterProfile(text);
      return { value: cluster, issues };
    },
  });

export const frameworkFiles = (sources: UserProfileSources): UserFiles<FrameworkDescription> =>
  userProfiles(sources, {
    setting: 'layercost.framework',
    isPath: isFrameworkPath,
    unknown: 'framework/file',
    read: (text) => {
      const { description, issues } = readFrameworkDescription(text);
      return { value: description, issues };
    },
  });

/** A cluster's name has neither slashes nor an ending. */
const isProfilePath = (setting: string): boolean => /[\\/]|\.json$/i.test(setting);

interface Kind<Value> {
  readonly setting: string;
  readonly isPath: (setting: string) => boolean;
  /** What a path is that leads nowhere. */
  readonly unknown: Issue['code'];
  readonly read: (text: string) => UserFile<Value>;
}

function userProfiles<Value>(
  { read, resolve, watch }: UserProfileSources,
  kind: Kind<Value>,
): UserFiles<Value> {
  const known = new Map<string, Promise<UserFile<Value>>>();
  const watched = new Set<string>();
  const readOwn = async (uri: string): Promise<UserFile<Value>> => {
    const file = await read(uri, { longest: longestProfile });
    if (file.kind === 'failed') return { value: undefined, issues: [file.issue] };
    try {
      const text = decodeText(file.source);
      const { value, issues } = kind.read(text);
      // Their places are those of another text than the model's, so they are said in words.
      const located = locateIssues(issues, text).map(({ span: _, ...issue }) => ({
        ...issue,
        message: `${fileName(uri)}: ${issue.message}`,
      }));
      return { value, issues: located };
    } finally {
      file.close();
    }
  };
  return {
    of: async (setting, model) => {
      if (!kind.isPath(setting)) return undefined;
      const uri = await resolve(setting, model);
      if (uri === undefined) {
        const message = `\`${kind.setting}\` is "${setting}", which is not a path in this workspace`;
        return { value: undefined, issues: [{ code: kind.unknown, severity: 'error', message }] };
      }
      if (!watched.has(uri)) {
        watched.add(uri);
        watch(uri);
      }
      const file = known.get(uri) ?? readOwn(uri);
      known.set(uri, file);
      file.catch(() => known.delete(uri));
      return file;
    },
    forget: (uri) => known.delete(uri),
  };
}
