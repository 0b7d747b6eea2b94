/** A model file after reading: its format, its syntax where a text view needs it, and its analysis. */

import type { CaffeNet } from '../formats/caffe/syntax.ts';
import type { SelectedModel } from '../formats/layer-spec/selectModel.ts';
import type { LayerSpec } from '../formats/layer-spec/syntax.ts';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import type { OnnxTextSpans } from '../formats/onnx-text/textSpans.ts';
import type { ProvidedStructure } from '../lowering/providedStructure.ts';
import type { Issue } from '../model/issue.ts';
import type { ScenarioRequest } from '../model/scenario.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';

export type ModelFormat = 'onnx' | 'onnx-text' | 'pt2' | 'layer-spec' | 'prototxt';

export interface OpenedModel {
  readonly format: ModelFormat;
  readonly name: string;
  /** Absent where nothing could be read; `issues` then says why. */
  readonly analysis: ModelAnalysis | undefined;
  /** The syntax tree of an ONNX file, for its text view. */
  readonly onnx: OnnxModel | undefined;
  /** The same with the custom operators that a file beside it describes, as it was analysed; absent without any. */
  readonly described?: OnnxModel;
  /** Where the nodes of an ONNX text are in it, as far as it could be read. */
  readonly onnxSpans?: OnnxTextSpans;
  /** What the lowering of a layer spec or a Caffe net knows of the graph: `Layer.given` counts its layers. */
  readonly structure?: ProvidedStructure;
  /** The syntax tree of a layer spec, as far as it could be read. */
  readonly layerSpec?: LayerSpec;
  /** The text of the layer spec, where it was written from a config and is not the file's. */
  readonly writtenSpec?: string;
  /** The model of the layer spec that was opened: with several in a file, one of them. */
  readonly selectedModel?: SelectedModel;
  /**
   * Paths of the files a layer spec includes, found or not, relative to its folder: when one of them changes, the model
   * may.
   */
  readonly includes?: readonly string[];
  /** The syntax tree of a Caffe net, as far as it could be read. */
  readonly caffeNet?: CaffeNet;
  /** The file as inference runs it, where that is another network: a Caffe net chooses its layers by phase. */
  readonly inference?: () => OpenedModel;
  /** The same with other values of `dims`, where the text is a layer spec, whose sizes are in its graph. */
  readonly withDimensions?: (dimensions: Readonly<Record<string, number>>) => OpenedModel;
  /** The syntax tree of the file as it is trained, where that is another graph; `analysis` is then of it. */
  readonly trained?: OnnxModel;
  /** What a layer spec asks for under `scenario`. */
  readonly scenario: ScenarioRequest;
  /** Everything wrong with the file: reading, graph and shapes. */
  readonly issues: readonly Issue[];
}
