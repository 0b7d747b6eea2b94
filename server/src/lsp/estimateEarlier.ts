/** An earlier state of an open model, costed with the settings and files of the open one. */

import type { OpenedModel } from '../analysis/openedModel.ts';
import { type OpenOptions, openModel } from '../analysis/openModel.ts';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../formats/byteSource.ts';
import { readFrameworkDescription } from '../formats/framework/readFrameworkDescription.ts';
import { finish } from '../model/steps.ts';
import { openWithIncludes } from './includedFiles.ts';
import type { ViewSources } from './makeView.ts';
import { operatorsBeside, withOperatorsBeside } from './operatorsBeside.ts';
import { estimateWith, settingsScenario } from './settingsScenario.ts';
import { fileName } from './virtualText.ts';

/** `uri` is that of the file, `model` that of several in it. What a layer spec includes is of now. */
export async function estimateEarlier(
  uri: string,
  content: Uint8Array,
  model: string | undefined,
  sources: ViewSources,
): Promise<ModelEstimate> {
  const settings = await sources.settingsOf(uri);
  const scenario = await settingsScenario(settings, uri, sources);
  const source = byteSourceOfBuffer(content);
  const options: OpenOptions = {
    dimensions: settings.dimensions,
    readInclude: sources.includes.reader(uri),
    readFramework: readFrameworkDescription,
    model,
  };
  const open = (more: OpenOptions = {}): OpenedModel =>
    openModel(source, fileName(uri), { ...options, ...more });
  const opened = await openWithIncludes(sources.includes, uri, () => open());
  const whole = await withOperatorsBeside(opened, uri, operatorsBeside(sources.includes), (operators) =>
    open({ operators }),
  );
  return finish(estimateWith(whole, scenario));
}
