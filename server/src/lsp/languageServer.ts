/**
 * What of the library is more than a type. Modules import it from here: of a library in CommonJS a bundle copies all
 * exports for each module that imports it, 307 of this one, while a person waits for the server.
 */

export * as lsp from 'vscode-languageserver';
export {
  CodeLensRefreshRequest,
  DidChangeConfigurationNotification,
  DidChangeWatchedFilesNotification,
  DocumentDiagnosticRequest,
  DocumentHighlightKind,
  ErrorCodes,
  LSPErrorCodes,
  ResponseError,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver';
