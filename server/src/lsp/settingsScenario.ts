/** The scenario that the settings ask for, and the cost of a model under it. */

import type { OpenedModel } from '../analysis/openedModel.ts';
import type { EstimateCache } from '../estimate/estimateCache.ts';
import { estimateInSteps, type ModelEstimate } from '../estimate/estimateModel.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { FrameworkDescription } from '../model/frameworkDescription.ts';
import type { Market, ScenarioRequest } from '../model/scenario.ts';
import type { Steps } from '../model/steps.ts';
import { type Settings, scenarioOfSettings } from './settings.ts';
import type { UserCluster, UserFiles, UserFramework } from './userProfiles.ts';

/** The scenario of the settings, with the files that they name. */
export interface SettingsScenario {
  readonly request: ScenarioRequest;
  readonly cluster: UserCluster | undefined;
}

export interface UserProfiles {
  readonly clusters: UserFiles<ClusterProfile>;
  readonly frameworks: UserFiles<FrameworkDescription>;
  /** A person's own prices, and the day; absent where no files are kept. */
  readonly market?: (() => Market) | undefined;
}

export async function settingsScenario(
  settings: Settings,
  model: string,
  { clusters, frameworks, market }: UserProfiles,
): Promise<SettingsScenario> {
  const request = { ...scenarioOfSettings(settings), ...(market && { market: market() }) };
  const cluster = await clusters.of(settings.cluster, model);
  const described = await frameworks.of(request.framework?.name ?? '', model);
  return { request: described === undefined ? request : withDescription(request, described), cluster };
}

function withDescription(request: ScenarioRequest, { value, issues }: UserFramework): ScenarioRequest {
  const { name = '', options = {} } = request.framework ?? {};
  const framework =
    value === undefined
      ? { name, options, problems: issues }
      : { name: value.name, options, description: value };
  return { ...request, framework };
}

/** The model's own scenario overrides the settings; a cluster that it names overrides a user's profile. */
export function* estimateWith(
  opened: OpenedModel,
  { request, cluster: profile }: SettingsScenario,
  cache?: EstimateCache,
): Steps<ModelEstimate> {
  const asked = opened.scenario.cluster;
  if (profile === undefined || (asked !== undefined && asked !== profile.value?.name))
    return yield* estimateInSteps(opened, [opened.scenario, request], undefined, undefined, cache);
  const estimate = yield* estimateInSteps(
    opened,
    [opened.scenario, request],
    profile.value,
    undefined,
    cache,
  );
  // A path is not a cluster's name: the issues of its file say more.
  const issues =
    profile.value === undefined
      ? estimate.issues.filter(({ code }) => code !== 'scenario/unknown-cluster')
      : estimate.issues;
  return { ...estimate, issues: [...issues, ...profile.issues] };
}
