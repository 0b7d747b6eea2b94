/**
 * What an editor may ask of a text without waiting for its cost. Each language has its own; places are offsets.
 *
 * A feature that a language does not have is absent, so that nothing has to answer for it.
 */

import type { TextSpan } from '../model/issue.ts';
import type { Completion } from './completion.ts';
import type { Hover } from './hover.ts';
import type { ModelView } from './modelView.ts';
import type { SemanticToken } from './semanticTokens.ts';
import type { SignatureHelp } from './signatureHelp.ts';
import type { Outcome, TextEdit } from './textEdit.ts';
import type { TextLines } from './textLines.ts';

export interface TextFeatures {
  /** The best first; `view` is the last that was costed, if any. */
  readonly complete?: (offset: number, view: ModelView | undefined) => readonly Completion[];
  /** The path of another file that is being written, and what to propose for it of the entries of its folder. */
  readonly path?: (offset: number) => PathBeingWritten | undefined;
  readonly signatureHelp?: (offset: number) => SignatureHelp | undefined;
  /** What the word means; the cost of its line where it says nothing of its own is not part of it. */
  readonly hover?: (offset: number, view: ModelView | undefined) => Hover | undefined;
  readonly definition?: (offset: number) => Definition | undefined;
  /** Every place of a name, its definitions too where they are wanted. */
  readonly references?: (offset: number, withDefinition: boolean) => readonly TextSpan[];
  readonly prepareRename?: (offset: number) => Outcome<TextSpan>;
  readonly rename?: (offset: number, newName: string) => Outcome<readonly TextEdit[]>;
  /** Names that other files define or use: `undefined` where the word at the offset is of this text alone. */
  readonly acrossFiles?: AcrossFiles;
  /** Lines from `first` to `last`, both included. */
  readonly format?: (first: number, last: number) => readonly TextEdit[];
  /** From the narrowest to the whole text. */
  readonly selection?: (offset: number) => readonly TextSpan[];
  /** In order of the text. */
  readonly tokens?: () => readonly SemanticToken[];
  readonly links?: () => readonly DocumentLink[];
}

export interface AcrossFiles {
  /** Whether other files may use or define the word: only then they have to be looked for. */
  readonly isShared: (offset: number) => boolean;
  readonly references: (
    offset: number,
    withDefinition: boolean,
    related: RelatedTexts,
  ) => readonly FileSpans[] | undefined;
  /** The word that would be renamed, where another file defines it. */
  readonly prepareRename: (offset: number, related: RelatedTexts) => TextSpan | undefined;
  readonly rename: (
    offset: number,
    newName: string,
    related: RelatedTexts,
  ) => Outcome<readonly FileEdits[]> | undefined;
}

export interface FileSpans {
  readonly address: string;
  readonly text: TextLines;
  readonly spans: readonly TextSpan[];
}

export interface FileEdits {
  readonly address: string;
  readonly text: TextLines;
  readonly edits: readonly TextEdit[];
}

/** The texts known that may include each other, by addresses that mean nothing here. */
export interface RelatedTexts {
  /** The address of the text that is asked about. */
  readonly self: string;
  readonly texts: readonly { readonly address: string; readonly text: string }[];
  /** The address of a path that is written in the file at an address. */
  readonly resolve: (address: string, path: string) => string | undefined;
}

/** One entry of a folder. */
export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

export interface PathBeingWritten {
  /** Relative to the document; '' for its own folder. */
  readonly folder: string;
  readonly complete: (entries: readonly FolderEntry[], self: string) => readonly Completion[];
}

export interface Definition {
  /** The word that was asked about. */
  readonly origin: TextSpan;
  readonly target: TextSpan;
  /** All that the definition says. */
  readonly whole: TextSpan;
  /** Where the target is in another file, its path and text. */
  readonly file?: { readonly path: string; readonly text: string };
}

/** A word that leads to another file, by a path relative to this one. */
export interface DocumentLink {
  readonly span: TextSpan;
  readonly path: string;
}
