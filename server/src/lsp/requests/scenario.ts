/** `layercost/listDimensions` and `layercost/placeScenarioChange`: what of a model's scenario a person sets, and where. */

import type { ResponseError } from 'vscode-languageserver';
import { dimensionChoices } from '../../language/dimensionChoices.ts';
import { changeScenario, hasScenario } from '../../language/layer-spec/changeScenario.ts';
import { readSpecText } from '../../language/layer-spec/specText.ts';
import { viewOfModel } from '../../language/modelView.ts';
import { differenceOf } from '../../language/textEdit.ts';
import { splitLines } from '../../language/textLines.ts';
import {
  type DimensionChoice,
  type DimensionsParams,
  languageIds,
  listDimensions,
  placeScenarioChange,
  type ScenarioChange,
  type ScenarioChangeParams,
  type ScenarioChangePlace,
} from '../../protocol.ts';
import { toTextEdits } from '../toProto.ts';
import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const scenario: Request = {
  serve: ({ connection, handler, documents, texts }) => {
    connection.onRequest<readonly DimensionChoice[] | ResponseError<void>, void>(
      listDimensions,
      handler<DimensionsParams, readonly DimensionChoice[]>('dimensions', [], async ({ uri, model }) => {
        const view = await documents.view(uri);
        return view === undefined ? [] : dimensionChoices(viewOfModel(view, model));
      }),
    );
    connection.onRequest<ScenarioChangePlace | null | ResponseError<void>, void>(
      placeScenarioChange,
      handler<ScenarioChangeParams, ScenarioChangePlace | null>(
        'scenario',
        null,
        ({ uri, model, change }) => {
          const binary = modelBehind(uri);
          // Its layers are a layer spec that nobody can edit.
          if (binary !== undefined) return { kind: 'settings', file: binary };
          const document = texts.get(uri);
          if (document?.languageId !== languageIds.layerSpec) return { kind: 'settings', file: uri };
          const source = document.getText();
          if (!isOfText(source, change, model)) return { kind: 'settings', file: uri };
          const edit = differenceOf(source, changeScenario(source, change, model));
          return { kind: 'text', edits: edit === undefined ? [] : toTextEdits(splitLines(source), [edit]) };
        },
      ),
    );
  },
};

/** Dimensions are the text's own; the rest is where it has a scenario. */
export const isOfText = (source: string, change: ScenarioChange, model: string | undefined): boolean =>
  Object.keys(change).every((key) => key === 'dimensions') || hasScenario(readSpecText(source), model);
