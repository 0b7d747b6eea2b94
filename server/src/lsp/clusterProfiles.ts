/**
 * Clusters of one's own: the setting `layercost.cluster` may be the path of a profile, relative to the workspace folder.
 * A profile is read once, and again when its file changes.
 */

import { decodeText } from '../formats/byteSource.ts';
import { locateIssues } from '../formats/locateIssues.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { readClusterProfile } from '../hardware/readClusterProfile.ts';
import type { Issue } from '../model/issue.ts';
import type { ReadFile } from './readFile.ts';
import { fileName } from './virtualText.ts';

export interface OwnCluster {
  /** Absent where the file is no profile; `issues` then says why. */
  readonly profile: ClusterProfile | undefined;
  readonly issues: readonly Issue[];
}

export interface ClusterProfiles {
  /** The profile that the setting names; `undefined` where it names no file. */
  of(setting: string, model: string): Promise<OwnCluster | undefined>;
  /** The file changed. Gives whether a profile was read from it. */
  forget(uri: string): boolean;
}

export interface ProfileSources {
  readonly read: ReadFile;
  /** Address of a path of the settings, as seen from a model. */
  readonly resolve: (path: string, model: string) => Promise<string | undefined>;
  /** Called once for every file, to be told of its changes. */
  readonly watch: (uri: string) => void;
}

/** A cluster's name has neither slashes nor an ending. */
export const isProfilePath = (setting: string): boolean => /[\\/]|\.json$/i.test(setting);

export function clusterProfiles({ read, resolve, watch }: ProfileSources): ClusterProfiles {
  const known = new Map<string, Promise<OwnCluster>>();
  const watched = new Set<string>();
  return {
    of: async (setting, model) => {
      if (!isProfilePath(setting)) return undefined;
      const uri = await resolve(setting, model);
      if (uri === undefined) {
        return failed(`\`layercost.cluster\` is "${setting}", which is no path of this workspace`);
      }
      if (!watched.has(uri)) {
        watched.add(uri);
        watch(uri);
      }
      const profile = known.get(uri) ?? readProfile(read, uri);
      known.set(uri, profile);
      profile.catch(() => known.delete(uri));
      return profile;
    },
    forget: (uri) => known.delete(uri),
  };
}

async function readProfile(read: ReadFile, uri: string): Promise<OwnCluster> {
  const file = await read(uri);
  if (file.kind === 'failed') return { profile: undefined, issues: [file.issue] };
  try {
    const text = decodeText(file.source);
    const { cluster, issues } = readClusterProfile(text);
    // Their places are those of another text than the model's, so they are said in words.
    const located = locateIssues(issues, text).map(({ span: _, ...issue }) => ({
      ...issue,
      message: `${fileName(uri)}: ${issue.message}`,
    }));
    return { profile: cluster, issues: located };
  } finally {
    file.close();
  }
}

const failed = (message: string): OwnCluster => ({
  profile: undefined,
  issues: [{ code: 'scenario/unknown-cluster', severity: 'error', message }],
});
