/** Open documents as texts: completion, navigation, rename and formatting need no cost. Each text is parsed once. */

import type { Range, TextDocumentPositionParams } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { caffeFeatures } from '../language/caffe/caffeFeatures.ts';
import { layerSpecFeatures } from '../language/layer-spec/layerSpecFeatures.ts';
import type { IncludedText } from '../language/layer-spec/specText.ts';
import { onnxTextFeatures } from '../language/onnx-text/onnxTextFeatures.ts';
import type { TextFeatures } from '../language/textFeatures.ts';
import { rangeOfSpan, splitLines, type TextLines } from '../language/textLines.ts';
import { languageIds } from '../protocol.ts';
import { languageOf, type ModelLanguage } from './languageOf.ts';

export interface OpenTexts {
  /** `undefined` for a document that is not open or not a model. */
  of(uri: string): OpenText | undefined;
  at(params: TextDocumentPositionParams): (OpenText & { readonly offset: number }) | undefined;
}

export interface OpenText {
  readonly version: number;
  readonly document: TextDocument;
  readonly features: TextFeatures;
  readonly lines: TextLines;
  readonly included: readonly IncludedText[];
}

type MakeFeatures = (source: string, included: readonly IncludedText[]) => TextFeatures;

const languages: Readonly<Record<ModelLanguage, MakeFeatures>> = {
  [languageIds.layerSpec]: layerSpecFeatures,
  [languageIds.onnxText]: onnxTextFeatures,
  [languageIds.caffePrototxt]: caffeFeatures,
};

export function openTexts(
  documentAt: (uri: string) => TextDocument | undefined,
  includedBy: (uri: string) => readonly IncludedText[],
): OpenTexts {
  const parsed = new WeakMap<TextDocument, OpenText>();
  const of = (uri: string): OpenText | undefined => {
    const document = documentAt(uri);
    const language = document && languageOf(document);
    const make = language && languages[language];
    if (document === undefined || make === undefined) return undefined;
    const known = parsed.get(document);
    const included = includedBy(uri);
    const { version } = document;
    if (known?.version === version && isSame(known.included, included)) return known;
    const source = document.getText();
    const text = {
      version,
      document,
      features: make(source, included),
      lines: splitLines(source),
      included,
    };
    parsed.set(document, text);
    return text;
  };
  return {
    of,
    at: ({ textDocument, position }) => {
      const text = of(textDocument.uri);
      return text === undefined ? undefined : { ...text, offset: text.document.offsetAt(position) };
    },
  };
}

export const rangeIn = (text: OpenText, span: { readonly start: number; readonly end: number }): Range =>
  rangeOfSpan(text.lines, span);

const isSame = (left: readonly IncludedText[], right: readonly IncludedText[]): boolean =>
  left.length === right.length &&
  left.every(({ path, text }, index) => path === right[index]?.path && text === right[index]?.text);
